package wire

import (
	"encoding/binary"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Events
//
// An event begins with one byte: its kind and three bits.
//
//	bits 0–4  kind
//	bit 5     sameEvent: all but kind and time are as in the event before
//	bit 6     sameTime: the time is that of the event before
//	bit 7     extra: a byte with more bits follows
//
// A free is usually two events that differ in kind alone: the second takes one
// byte. An address is written as its distance, in units of 512 bytes, from the
// last address written that way. Every frame starts from zeros, so that it can be
// read without earlier frames.
const (
	kindMask  = 0x1f
	sameEvent = 0x20
	sameTime  = 0x40
	extra     = 0x80

	absentMask  = 0x0f // of the extra byte: trace.Absent
	otherStream = 0x10 // the stream's number follows; otherwise it is the one before
	plainAddr   = 0x20 // the address itself is written
	hasSlack    = 0x40 // the block's size is not what the rules say: by how much it is larger than the event's follows
)

// addrUnit divides the addresses of blocks and segments.
const addrUnit = 512

// eventsInFrame bounds the events of one frame.
const eventsInFrame = 4096

// Events sends events of a device. first is the number of the first one in the
// program's own count. They must follow the earlier ones without a gap; after a
// gap the caller sends a base. It allocates nothing.
func (e *Encoder) Events(device int, first int64, events []trace.Event) {
	for len(events) > 0 {
		n := min(len(events), eventsInFrame)
		e.eventsFrame(device, first, events[:n])
		events, first = events[n:], first+int64(n)
	}
}

func (e *Encoder) eventsFrame(device int, first int64, events []trace.Event) {
	e.frame()
	e.signed(int64(device))
	e.signed(first)
	e.number(uint64(len(events)))
	c := coder{buf: e.buf}
	for i := range events {
		c.put(&events[i])
	}
	e.buf = c.buf
	e.end(EventsFrame)
}

// coder writes events one after another.
type coder struct {
	buf  []byte
	last trace.Event // the one before; zero before the first
	addr uint64      // the base of the next address
}

func (c *coder) put(v *trace.Event) {
	last := &c.last
	head := byte(v.Kind) & kindMask
	if v.Time == last.Time {
		head |= sameTime
	}
	same := v.Addr == last.Addr && v.Size == last.Size && v.Stack == last.Stack && v.Note == last.Note &&
		v.Stream == last.Stream && v.Absent == last.Absent && v.Slack == last.Slack
	if same {
		c.buf = append(c.buf, head|sameEvent)
	} else {
		c.fields(head, v)
	}
	if head&sameTime == 0 {
		c.buf = binary.AppendVarint(c.buf, v.Time-last.Time)
	}
	*last = *v
}

// fields writes all fields that are not in the head, except the time.
func (c *coder) fields(head byte, v *trace.Event) {
	more := byte(v.Absent) & absentMask
	if v.Stream != c.last.Stream {
		more |= otherStream
	}
	if v.Addr%addrUnit != 0 || v.Addr == 0 {
		more |= plainAddr
	}
	if v.Slack > 0 {
		more |= hasSlack
	}
	if more == 0 {
		c.buf = append(c.buf, head)
	} else {
		c.buf = append(c.buf, head|extra, more)
	}
	if more&plainAddr != 0 {
		c.buf = binary.AppendUvarint(c.buf, v.Addr)
	} else {
		c.buf = binary.AppendVarint(c.buf, int64(v.Addr/addrUnit)-int64(c.addr/addrUnit))
		c.addr = v.Addr
	}
	c.buf = binary.AppendVarint(c.buf, v.Size)
	c.buf = binary.AppendUvarint(c.buf, uint64(v.Stack))
	c.buf = binary.AppendUvarint(c.buf, uint64(v.Note))
	if more&otherStream != 0 {
		c.buf = binary.AppendUvarint(c.buf, uint64(v.Stream))
	}
	if more&hasSlack != 0 {
		c.buf = binary.AppendUvarint(c.buf, uint64(v.Slack-1))
	}
}
