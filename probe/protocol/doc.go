// Package protocol has the parts of the protocol that a program's probe and its
// viewers share, except the stream: where the socket lies and when its folder is
// safe, how each side identifies the other, how long each waits, and the answers
// in JSON and metrics. It implements the section "The socket" of
// docs/protocol.md; package wire implements the rest of that page.
//
// It has no goroutines and no connections. Package probe is the server, and
// package attach is the client.
package protocol
