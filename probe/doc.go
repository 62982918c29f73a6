// Package probe shows a running program's device memory to viewers on the same
// machine, and lets viewers find and reach such programs.
//
// The serving half is one call, [Listen], that any Go program can make:
//
//	source   what the program has to show, an interface of five methods
//	ring     the last events, written without waiting, read by anybody  (ring.go)
//	session  one goroutine per viewer, at the viewer's pace             (session.go)
//	socket   HTTP over a unix socket in a folder of the user's own      (socket.go, server.go)
//
// The rule that carries the weight: nothing that the watched program calls
// waits for a viewer. Record writes into memory that it alone writes and
// publishes it with one atomic store; viewers that are too slow lose events,
// are told how many, and start again from a fresh state.
//
// What travels is package wire's business and written down in
// docs/protocol.md. The package knows no engine: a program's allocator calls a
// trace.Recorder, which a Probe is.
package probe
