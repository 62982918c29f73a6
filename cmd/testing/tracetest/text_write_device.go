package tracetest

import (
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

func (p *textWriter) device(d *trace.Device) {
	p.word("device")
	p.integer(int64(d.ID))
	p.flag("overflowed", d.Overflowed)
	if d.MaxEvents != 0 {
		p.key("max", d.MaxEvents)
	}
	p.end()
	p.contents(d)
}

// contents writes what is within a device.
func (p *textWriter) contents(d *trace.Device) {
	for i := range d.Events.Len() {
		p.event(d.Events.At(i))
	}
	for i := range d.Final.Segments {
		p.segment(&d.Final.Segments[i])
	}
}

func (p *textWriter) event(e *trace.Event) {
	p.define(e.Stack, e.Note)
	p.word(e.Kind.String())
	switch {
	case e.Absent&trace.NoAddr != 0:
		p.word("-")
	case e.Kind == trace.OOM:
		p.word("")
		p.buf = strconv.AppendUint(p.buf, e.Addr, 10)
	default:
		p.address(e.Addr)
	}
	if e.Absent&trace.NoSize != 0 {
		p.word("-")
	} else {
		p.integer(e.Size)
	}
	if e.Absent&trace.NoTime == 0 {
		p.word("@")
		p.buf = strconv.AppendInt(p.buf, e.Time, 10)
	}
	if e.Absent&trace.NoStream != 0 {
		p.word("stream=-")
	} else if e.Stream != trace.DefaultStream {
		p.stream(e.Stream)
	}
	p.stack(e.Stack)
	p.note(e.Note)
	p.end()
}

func (p *textWriter) segment(s *trace.Segment) {
	p.define(s.Stack, 0)
	p.word("segment")
	p.address(s.Addr)
	p.integer(s.Size)
	for _, field := range []struct {
		key   string
		given trace.Given
		value int64
	}{
		{"device", trace.GaveDevice, int64(s.Device)},
		{"allocated", trace.GaveAllocated, s.Allocated},
		{"active", trace.GaveActive, s.Active},
		{"requested", trace.GaveRequested, s.Requested},
	} {
		if s.Given&field.given != 0 {
			p.key(field.key, field.value)
		}
	}
	if s.Given&trace.GaveStream != 0 {
		p.stream(s.Stream)
	}
	p.text("type", s.Type)
	if s.Pool != 0 {
		p.pool(s.Pool)
	}
	if s.Given&trace.GaveExpandable != 0 {
		p.word("expandable=" + strconv.FormatBool(s.Expandable))
	}
	p.stack(s.Stack)
	p.flag("unaddressed", s.Given&trace.GaveAddr == 0)
	p.flag("unsized", s.Given&trace.GaveSize == 0)
	p.end()
	for i := range s.Blocks {
		p.block(&s.Blocks[i])
	}
}

func (p *textWriter) block(b *trace.Block) {
	p.define(b.Stack, b.Note)
	p.word("  block")
	p.address(b.Addr)
	p.integer(b.Size)
	p.flag(b.State.String(), b.Given&trace.GaveState != 0)
	p.text("as", b.StateText)
	if b.Given&trace.GaveRequested != 0 {
		p.key("requested", b.Requested)
	}
	p.stack(b.Stack)
	p.note(b.Note)
	p.flag("history", b.Given&trace.GaveHistory != 0)
	p.flag("unaddressed", b.Given&trace.GaveAddr == 0)
	p.flag("unsized", b.Given&trace.GaveSize == 0)
	p.end()
	for _, h := range b.History {
		p.define(h.Stack, 0)
		p.word("    tenant")
		p.address(h.Addr)
		p.integer(h.Requested)
		p.stack(h.Stack)
		p.end()
	}
}
