package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// Encoder writes a stream: the header, at the first frame, and frames. It is
// owned by one goroutine.
//
// The encoder collects frames, and writes them when there are many or when Flush
// is called. It keeps the first error, writes nothing after it, and returns it
// from Flush. The caller must pass names to Tables before it sends anything that
// refers to them by number.
type Encoder struct {
	w     io.Writer
	err   error
	buf   []byte // whole frames, then the unfinished one
	begin int    // where the payload of the unfinished frame begins
	head  []byte // its type and length
	began bool   // the header is written
	sum   Checksum
	sent  counts // how much of the tables was sent
	steps []byte // scratch: steps for one frame
}

// flushAt is how many bytes are collected before the encoder writes them.
const flushAt = 64 << 10

// NewEncoder returns an encoder that writes to w.
func NewEncoder(w io.Writer) *Encoder { return &Encoder{w: w, sent: fixedCounts} }

// Checksum sets the checksum of all frames, before the first.
func (e *Encoder) Checksum(c Checksum) { e.sum = c }

// Flush writes the collected frames and returns the first error.
func (e *Encoder) Flush() error {
	if e.err == nil && len(e.buf) > 0 {
		_, e.err = e.w.Write(e.buf)
	}
	e.buf = e.buf[:0]
	return e.err
}

// header begins the stream, once.
func (e *Encoder) header() {
	if !e.began {
		e.buf = append(e.buf, magic...)
		e.buf = append(e.buf, Version, Minor|byte(e.sum)<<checksumShift)
	}
	e.began = true
}

// frame begins a frame. Its payload is appended to e.buf; end finishes it. The
// length stands before the payload and is not known yet, so room is left for
// the longest.
func (e *Encoder) frame() {
	e.header()
	e.buf = append(e.buf, make([]byte, 1+binary.MaxVarintLen32)...)
	e.begin = len(e.buf)
}

// end gives the frame its type and length and moves it up to the one before.
func (e *Encoder) end(t Type) {
	payload := e.buf[e.begin:]
	if len(payload) > frameLimit {
		e.fail(fmt.Errorf("a frame of %s would have %d bytes, more than %d", t, len(payload), frameLimit))
		return
	}
	e.head = binary.AppendUvarint(append(e.head[:0], byte(t)), uint64(len(payload)))
	start := e.begin - 1 - binary.MaxVarintLen32
	at := start + copy(e.buf[start:], e.head)
	at += copy(e.buf[at:], payload)
	e.buf = e.sum.append(e.buf[:at], e.buf[start:at])
	if len(e.buf) >= flushAt {
		_ = e.Flush() // the encoder keeps the error, and Flush returns it again
	}
}

// message sends a frame of JSON.
func (e *Encoder) message(t Type, value any) {
	if !e.short(t, value) {
		e.fail(fmt.Errorf("a frame of %s would have more than %d bytes", t, jsonLimit))
	}
}

// short sends a frame of JSON unless it is too long, and reports whether it sent
// it.
func (e *Encoder) short(t Type, value any) bool {
	text, err := json.Marshal(value)
	switch {
	case err != nil:
		e.fail(err)
		return true
	case len(text) > jsonLimit:
		return false
	}
	e.frame()
	e.buf = append(e.buf, text...)
	e.end(t)
	return true
}

func (e *Encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}
