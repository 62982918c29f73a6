package wire

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Why a payload cannot be read.
var (
	errShort     = errors.New("it is cut off, or has a number that is none")
	errMissing   = errors.New("it refers to a missing entry")
	errUngreeted = errors.New("it comes before hello")
)

// rule returns the rule of docs/protocol.md that a frame breaks which cannot be read.
func (t Type) rule(err error) string {
	switch {
	case errors.Is(err, errUngreeted):
		return "stream.hello-first"
	case errors.Is(err, errMissing):
		return "table.numbers"
	case t == SnapshotFrame:
		return "snapshot.parts"
	case t == TagsFrame:
		return "tags.layout"
	case t >= firstMessage:
		return "message.json"
	case t.table():
		return "table.entries"
	case t == BaseFrame:
		return "base.layout"
	default:
		return "events.layout"
	}
}

// decode makes a frame of the payload. Bytes that are left are ignored: they
// are a newer minor version's.
func (d *Decoder) decode(t Type) (Frame, error) {
	f := Frame{Type: t}
	if !d.hello && t != HelloFrame {
		return f, errUngreeted
	}
	c := &cursor{b: d.payload}
	var err error
	switch {
	case t == SnapshotFrame:
		err = d.snapshot(&f, c)
	case t == TagsFrame:
		err = d.tags(&f, c)
	case t >= firstMessage:
		err = d.message(&f)
	case t.table():
		err = d.table(t, c)
	case t == BaseFrame:
		err = d.base(&f, c)
	default:
		err = d.run(&f, c)
	}
	if err == nil {
		err = c.err()
	}
	return f, err
}

// message reads a frame of JSON.
func (d *Decoder) message(f *Frame) error {
	if len(d.payload) > jsonLimit {
		return fmt.Errorf("it has %d bytes, more than %d", len(d.payload), jsonLimit)
	}
	if messageMemory(d.payload) > d.limits.Message {
		return tooMuch("what it says takes more than %d bytes", d.limits.Message)
	}
	d.hello = true
	return json.Unmarshal(d.payload, messages[f.Type].into(f))
}
