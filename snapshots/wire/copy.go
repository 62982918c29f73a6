package wire

import (
	"encoding/json"
	"io"
)

// Copier copies a stream a whole frame at a time, so that its output is a valid
// recording at any moment. It copies unknown frames like the others. It replaces
// any other checksum, or none, by CRC-32C, which every reader of a recording can
// check. One goroutine owns it.
type Copier struct {
	w io.Writer
	d *Decoder
}

// NewCopier returns a copier from r to w. It uses only the frame limit.
func NewCopier(w io.Writer, r io.Reader, l Limits) *Copier {
	return &Copier{w: w, d: NewDecoder(r, l)}
}

// Next copies one frame, and a header before it, and returns the frame's type.
// For the errors see [Decoder.Next]; it does not copy a frame with an error. It
// compares checksums, and does not decode frames.
func (c *Copier) Next() (Type, error) {
	for {
		t, err := c.d.read()
		if err != nil {
			return 0, err
		}
		if c.d.sum != CRC32C {
			c.sum(t)
		}
		if _, err := c.w.Write(c.d.frame); err != nil {
			return 0, err
		}
		if t != 0 {
			return t, nil
		}
	}
}

// Steps returns the number of measured steps that the last copied frame claims to
// have. Of a step that the program did not measure it says its counters at most, and not what its memory is for.
func (c *Copier) Steps() int64 {
	switch Type(c.d.frame[0]) {
	case StepFrame:
		var step struct {
			Categories json.RawMessage `json:"categories"`
		}
		if json.Unmarshal(c.d.payload, &step) != nil || step.Categories == nil {
			return 0
		}
		return 1
	case StepsFrame:
		return int64((&cursor{b: c.d.payload}).count(1))
	default:
		return 0
	}
}

// Events returns how many events the last copied frame has. It also reports
// whether the frame is an allocator's snapshot or a part of one, which may have
// any number.
func (c *Copier) Events() (n int64, snapshot bool) {
	switch Type(c.d.frame[0]) {
	case EventsFrame:
		at := cursor{b: c.d.payload}
		at.signed() // the device
		at.signed() // the first of them
		return int64(at.count(1)), false
	case SnapshotFrame:
		return 0, true
	default:
		return 0, false
	}
}

// sum gives the current header or frame the checksum that every reader knows.
func (c *Copier) sum(t Type) {
	frame, has := c.d.frame, c.d.sum.size()
	if t == 0 {
		frame[len(frame)-1] &= minorMask
		return
	}
	frame = frame[:len(frame)-has]
	c.d.frame = CRC32C.append(frame, frame)
}

// Bye ends the copy with a reason of the caller. Only another stream may follow.
func (c *Copier) Bye(reason string) error {
	e := Encoder{w: c.w, began: true}
	e.Bye(reason)
	return e.Flush()
}
