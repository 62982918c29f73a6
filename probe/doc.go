// Package probe shows a running program's device memory to viewers on the same
// machine. It is one call, [Listen], that any Go program can make:
//
//	source   what the program has to show, an interface of five methods
//	ring     the last events, written without waiting, read by any session  (ring.go)
//	session  one goroutine per viewer, at the viewer's pace                 (session.go)
//	socket   HTTP over a unix socket in a folder of the user's own          (socket.go, server.go)
//	changes  what viewers asked the program to do otherwise                 (change_*.go, lease.go)
//
// The rule that carries the weight: nothing that the watched program calls
// waits for a viewer. Record writes into memory that it alone writes and
// publishes it with one atomic store; viewers that are too slow lose events,
// learn how many, and start again from a fresh state.
//
// What travels is written down in docs/protocol.md; package protocol is what both
// sides agree on, and package wire is the stream. Viewers find and follow programs
// by package attach, which a program that is watched does not compile. The package
// knows no engine: a program's allocator calls a trace.Recorder, which a Probe is.
package probe
