package wire

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// runLimit bounds the events of a frame.
const runLimit = 1 << 16

// deviceLimit bounds the numbers of devices.
const deviceLimit = 1 << 16

func (c *cursor) device() (int, error) {
	n := c.signed()
	if n < 0 || n >= deviceLimit {
		return 0, fmt.Errorf("there is no device %d", n)
	}
	return int(n), nil
}

// run reads a frame of events. Its layout is in "Events" in encode_events.go.
func (d *Decoder) run(f *Frame, c *cursor) error {
	var err error
	if f.Device, err = c.device(); err != nil {
		return err
	}
	f.First = c.signed()
	n := c.count(1)
	if n > runLimit {
		return &ruleError{"E1", fmt.Sprintf("%d events in one frame, more than %d", n, runLimit)}
	}
	if cap(d.events) < n {
		d.events = make([]trace.Event, n)
	}
	d.events = d.events[:n]
	r := runReader{c: c, ids: &d.ids}
	for i := range d.events {
		r.next(&d.events[i])
	}
	f.Events = d.events
	return nil
}

// runReader reads events one after another.
type runReader struct {
	c    *cursor
	ids  *ids
	last trace.Event // with the decoder's numbers
	addr uint64      // the base of the next address
}

func (r *runReader) next(to *trace.Event) {
	head := r.c.byte()
	v := &r.last
	v.Kind = trace.Kind(head & kindMask)
	if int(v.Kind) >= trace.KindCount {
		v.Kind = trace.Other
	}
	if head&sameEvent == 0 {
		r.fields(head)
	}
	if head&sameTime == 0 {
		v.Time += r.c.signed()
	}
	*to = *v
}

func (r *runReader) fields(head byte) {
	c, v := r.c, &r.last
	var more byte
	if head&extra != 0 {
		more = c.byte()
	}
	v.Absent = trace.Absent(more & absentMask)
	if more&plainAddr != 0 {
		v.Addr = c.number()
	} else {
		r.addr = (r.addr/addrUnit + uint64(c.signed())) * addrUnit
		v.Addr = r.addr
	}
	v.Size = c.signed()
	v.Stack = lookup(c, &r.ids.stacks, c.number())
	v.Note = lookup(c, &r.ids.notes, c.number())
	if more&otherStream != 0 {
		v.Stream = lookup(c, &r.ids.streams, c.number())
	}
	if v.Slack = 0; more&hasSlack != 0 {
		v.SetSlack(c.number())
	}
}
