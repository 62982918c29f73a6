package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Recorder writes a recording: the stream's own bytes, whole frames of them, so
// that a recording is good whenever it stops. Hang it into the reading of a
// stream with io.TeeReader:
//
//	r := wire.NewRecorder(file)
//	s := wire.NewStream(io.TeeReader(connection, r), wire.StreamOptions{})
//
// It does not look into frames: the stream does, and its errors end both. It is
// owned by one goroutine.
type Recorder struct {
	w    io.Writer
	part []byte // the beginning of a frame whose end has not come yet
	any  bool   // something was written
	last Type   // of the last frame written
	err  error
}

// NewRecorder returns a recorder that writes to w.
func NewRecorder(w io.Writer) *Recorder { return &Recorder{w: w} }

// Write takes the next bytes of the stream and writes what frames they
// complete.
func (r *Recorder) Write(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	r.part = append(r.part, p...)
	whole, last := 0, r.last
	for {
		n, t, err := measure(r.part[whole:])
		if err != nil {
			r.err = err
			return 0, err
		}
		if n == 0 {
			break
		}
		whole, last = whole+n, t
	}
	if whole == 0 {
		return len(p), nil
	}
	if _, r.err = r.w.Write(r.part[:whole]); r.err != nil {
		return 0, r.err
	}
	r.part = slices.Delete(r.part, 0, whole)
	r.any, r.last = true, last
	return len(p), nil
}

// Restart forgets the beginning of a frame whose end will not come: the
// connection was lost, and another follows.
func (r *Recorder) Restart() { r.part = r.part[:0] }

// Close ends the recording with a goodbye, unless the stream said one. It does
// not close what is written to.
func (r *Recorder) Close(reason string) error {
	if r.err != nil || !r.any || r.last == ByeFrame {
		return r.err
	}
	e := NewEncoder(r.w)
	e.began = true // the header was written long ago
	e.Bye(reason)
	r.err = e.Flush()
	return r.err
}

// measure returns the length and the type of the header or frame that b begins
// with, 0 when it is not whole.
func measure(b []byte) (int, Type, error) {
	switch {
	case len(b) == 0:
		return 0, 0, nil
	case b[0] == magic[0]:
		if len(b) < headerSize {
			return 0, 0, nil
		}
		return headerSize, 0, nil
	case b[0] == 0 || b[0] > 0x7f:
		return 0, 0, fmt.Errorf("%#02x is no type of a frame", b[0])
	}
	length, size := binary.Uvarint(b[1:])
	if size < 0 || length > frameLimit {
		return 0, 0, fmt.Errorf("a frame of more than %d bytes", frameLimit)
	}
	whole := 1 + size + int(length) + checksumSize
	if size == 0 || whole > len(b) {
		return 0, 0, nil
	}
	return whole, Type(b[0]), nil
}
