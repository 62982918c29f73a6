package wire

import "io"

// Copier copies a stream a whole frame at a time, so that what was written is a
// recording at any moment. Frames that this program does not know are copied
// like the others. Frames that have another checksum than CRC-32C, or none, get that
// one: by it every reader can judge the recording. It is owned by one goroutine.
type Copier struct {
	w io.Writer
	d *Decoder
}

// NewCopier returns a copier from r to w. Of the limits only that of a frame is
// used.
func NewCopier(w io.Writer, r io.Reader, l Limits) *Copier {
	return &Copier{w: w, d: NewDecoder(r, l)}
}

// Next copies one frame, and a header that comes before it, and says what the
// frame was. For the errors see [Decoder.Next]; a frame with an error was not
// copied. Checksums are compared, and no frame is looked into.
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

// Steps returns how many steps the frame says it has that was copied last.
func (c *Copier) Steps() int64 {
	switch Type(c.d.frame[0]) {
	case StepFrame:
		return 1
	case StepsFrame:
		return int64((&cursor{b: c.d.payload}).count(1))
	default:
		return 0
	}
}

// Events returns how many events the frame has that was copied last, and whether it
// is a snapshot of an allocator instead, or a part of one, which may have any number.
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

// sum gives the header or frame at hand the checksum that every reader knows.
func (c *Copier) sum(t Type) {
	frame, has := c.d.frame, c.d.sum.size()
	if t == 0 {
		frame[len(frame)-1] &= minorMask
		return
	}
	frame = frame[:len(frame)-has]
	c.d.frame = CRC32C.append(frame, frame)
}

// Bye ends the copy for a reason of the copier's own. Nothing may be copied
// after it but another stream.
func (c *Copier) Bye(reason string) error {
	e := Encoder{w: c.w, began: true}
	e.Bye(reason)
	return e.Flush()
}
