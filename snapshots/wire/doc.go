// Package wire turns the memory of a running program into bytes and back: the
// stream of a probe, and recordings of it.
//
// A stream is a header and frames. A frame is tables of names, the whole state
// of a device's memory, a run of events, or one of a few small messages; each
// has a checksum and says how long it is, so that readers skip those that they
// do not know. A recording (.mtr) is a stream in a file, byte for byte, and
// several streams one after another are a recording too. docs/protocol.md of
// the project describes every byte.
//
// [Encoder] writes frames, [Decoder] reads them, [Stream] makes traces of them
// and [Read] reads a whole recording. Nothing that a peer sends makes the
// readers fail other than with an error, or take more memory than [Limits]
// says; text from a peer is kept as it is and must be made printable before it
// meets a terminal.
package wire
