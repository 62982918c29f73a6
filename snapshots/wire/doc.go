// Package wire encodes and decodes the memory of a running program: the stream of
// a probe, and recordings of it.
//
// A stream is a header and frames. A frame is tables of names, the whole state of
// a device's memory, a run of events, or one of a few small messages; each has a
// checksum and a length, so that readers can skip unknown frames. A recording
// (.mtr) is a stream in a file, byte for byte, and several streams one after
// another are a recording too. docs/protocol.md of the project describes every
// byte.
//
// [Encoder] writes frames, [Decoder] reads them, [Stream] makes traces of them
// and [Read] reads a whole recording. Whatever a peer sends, the readers only
// fail with an error, and take no more memory than [Limits] allows. They keep a
// peer's text unchanged: the caller must make it printable before it reaches a
// terminal.
package wire
