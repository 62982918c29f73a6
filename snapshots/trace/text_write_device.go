package trace

import "strconv"

func (p *textWriter) device(d *Device) {
	p.word("device")
	p.integer(int64(d.ID))
	p.flag("overflowed", d.Overflowed)
	if d.MaxEvents != 0 {
		p.key("max", d.MaxEvents)
	}
	p.end()
	for i := range d.Events.Len() {
		p.event(d.Events.At(i))
	}
	for i := range d.Final.Segments {
		p.segment(&d.Final.Segments[i])
	}
}

func (p *textWriter) event(e *Event) {
	p.define(e.Stack, e.Note)
	p.word(e.Kind.String())
	switch {
	case e.Absent&NoAddr != 0:
		p.word("-")
	case e.Kind == OOM:
		p.word("")
		p.buf = strconv.AppendUint(p.buf, e.Addr, 10)
	default:
		p.address(e.Addr)
	}
	if e.Absent&NoSize != 0 {
		p.word("-")
	} else {
		p.integer(e.Size)
	}
	if e.Absent&NoTime == 0 {
		p.word("@")
		p.buf = strconv.AppendInt(p.buf, e.Time, 10)
	}
	if e.Absent&NoStream != 0 {
		p.word("stream=-")
	} else if e.Stream != DefaultStream {
		p.stream(e.Stream)
	}
	p.stack(e.Stack)
	p.note(e.Note)
	p.end()
}

func (p *textWriter) segment(s *Segment) {
	p.define(s.Stack, 0)
	p.word("segment")
	p.address(s.Addr)
	p.integer(s.Size)
	for _, field := range []struct {
		key   string
		given Given
		value int64
	}{
		{"device", GaveDevice, int64(s.Device)},
		{"allocated", GaveAllocated, s.Allocated},
		{"active", GaveActive, s.Active},
		{"requested", GaveRequested, s.Requested},
	} {
		if s.Given&field.given != 0 {
			p.key(field.key, field.value)
		}
	}
	if s.Given&GaveStream != 0 {
		p.stream(s.Stream)
	}
	p.text("type", s.Type)
	if s.Pool != 0 {
		p.pool(s.Pool)
	}
	if s.Given&GaveExpandable != 0 {
		p.word("expandable=" + strconv.FormatBool(s.Expandable))
	}
	p.stack(s.Stack)
	p.flag("unaddressed", s.Given&GaveAddr == 0)
	p.flag("unsized", s.Given&GaveSize == 0)
	p.end()
	for i := range s.Blocks {
		p.block(&s.Blocks[i])
	}
}

func (p *textWriter) block(b *Block) {
	p.define(b.Stack, b.Note)
	p.word("  block")
	p.address(b.Addr)
	p.integer(b.Size)
	p.flag(b.State.String(), b.Given&GaveState != 0)
	p.text("as", b.StateText)
	if b.Given&GaveRequested != 0 {
		p.key("requested", b.Requested)
	}
	p.stack(b.Stack)
	p.note(b.Note)
	p.flag("history", b.Given&GaveHistory != 0)
	p.flag("unaddressed", b.Given&GaveAddr == 0)
	p.flag("unsized", b.Given&GaveSize == 0)
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
