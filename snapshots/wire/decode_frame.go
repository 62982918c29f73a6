package wire

import (
	"encoding/json"
	"errors"
	"fmt"
)

// errShort says that a payload ends too early, or has a number that is none.
var errShort = errors.New("it ends too early, or refers to a missing entry")

// decode makes a frame of the payload. Bytes that are left are ignored: they
// are a newer minor version's.
func (d *Decoder) decode(t Type) (Frame, error) {
	f := Frame{Type: t}
	if !d.hello && t != HelloFrame {
		return f, errors.New("it comes before hello")
	}
	c := &cursor{b: d.payload}
	var err error
	switch {
	case t >= firstMessage:
		err = d.message(&f)
	case t.table():
		err = d.table(t, c)
	case t == BaseFrame:
		err = d.base(&f, c)
	default:
		err = d.run(&f, c)
	}
	if err == nil && c.short {
		err = errShort
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
