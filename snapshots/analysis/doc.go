// Package analysis asks questions about a trace: how much was held when, what
// held it, where the allocator's map has holes, what an out-of-memory event
// died of, what grew from step to step, what differs between two files.
//
// An [Index] reads one device's events once and keeps some ten bytes per
// event: who ended whom, and the level of requested and of reserved memory at
// every 64th event. Every question is then answered from the nearest of those
// points, so what a page asks does not depend on how long the trace is.
//
// The package draws nothing, opens nothing and starts no goroutines. Its
// results are values that never change. Event −1 means "before the first
// event"; sizes are bytes; levels are of requested bytes unless they say
// reserved.
package analysis
