// Package analysis answers questions about a trace: how much memory was held at
// each moment, which stacks held it, where the allocator's map has holes, why a
// request ran out of memory, which memory grew from step to step, and how two
// files differ.
//
// An [Index] reads one device's events once and keeps some ten bytes per event:
// which event ended which allocation, and the level of requested and of reserved
// memory at every 64th event. It answers every question from the nearest of those
// points, so the cost of a page does not depend on the length of the trace.
//
// Its files stand by question: findings (what is wrong), reduced (the peak without what
// a change takes away), map (the allocator's memory at a moment), steps, failure and
// shortage (out of memory), and what the index keeps: record, levels, series, lasting.
//
// The package draws nothing, opens nothing and starts no goroutines. Its
// results are values that never change. Event −1 means "before the first
// event"; sizes are bytes; levels are of requested bytes unless they say
// reserved.
package analysis
