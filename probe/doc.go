// Package probe shows a running program's device memory to viewers on the same
// machine. It is one call, [Listen], that any Go program can make:
//
//	source   what the program has to show, an interface of five methods
//	ring     the last events, written without waiting, read by any session  (ring.go)
//	session  one goroutine per viewer, at the viewer's pace                 (session.go)
//	socket   HTTP over a unix socket in a folder of the user's own          (socket.go, server.go)
//	changes  what viewers asked the program to do otherwise                 (change_*.go, lease.go)
//
// The main rule: nothing that the watched program calls waits for a viewer.
// Record writes into memory that only it writes, and publishes it with one atomic
// store. A viewer that is too slow loses events, learns how many, and starts
// again from a fresh state.
//
// The protocol is in docs/protocol.md. Package protocol has the parts that both
// sides share, and package wire has the stream. Viewers find and follow programs
// with package attach, which the watched program does not import. The package
// knows no engine: a program's allocator calls a trace.Recorder, and a Probe is
// one.
package probe
