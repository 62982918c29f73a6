// Package protocol is what a program's probe and its viewers agree on besides the
// stream: where the socket lies and what makes its folder safe, how each side learns
// who is at the other end, how long each waits, and the answers in JSON and metrics.
// It is the section "The socket" of docs/protocol.md in Go; package wire is the
// rest of that page.
//
// It has no goroutines and no connections. Package probe serves by it, and package
// attach asks by it.
package protocol
