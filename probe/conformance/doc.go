// Package conformance acts as a viewer of a running probe, and reports which rules of
// docs/protocol.md the probe breaks. It is for who writes a probe of their own: the
// server that memtop's probes share has its tests in package probe.
//
//	Examine   asks each path, then watches a stream     (examine.go)
//	watcher   what a stream says, frame by frame        (stream.go)
//	Report    what was seen of each group of rules      (report.go)
//
// It costs the program as much as two viewers, and changes none of its settings.
// Whatever a program sends, the examination takes bounded memory and time.
package conformance
