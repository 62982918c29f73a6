package tracetest

import (
	"errors"
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

var errNoDevice = errors.New("no device line comes before this one")

func (p *textReader) startDevice(f *textFields) error {
	p.closeDevice()
	d := trace.Device{ID: int(f.integer32(f.next()))}
	for key, value := range f.attributes() {
		switch key {
		case "overflowed":
			d.Overflowed = true
		case "max":
			d.MaxEvents = f.integer(value)
		default:
			f.unknown(key)
		}
	}
	if n := len(p.t.Devices); n > 0 && p.t.Devices[n-1].ID >= d.ID {
		return fmt.Errorf("device %d comes after device %d", d.ID, p.t.Devices[n-1].ID)
	}
	p.t.Devices = append(p.t.Devices, d)
	p.device, p.log = &p.t.Devices[len(p.t.Devices)-1], new(trace.EventLog)
	return nil
}

func (p *textReader) startPinned(*textFields) error {
	p.closeDevice()
	p.t.Pinned = &trace.Device{ID: -1}
	p.device, p.log = p.t.Pinned, new(trace.EventLog)
	return nil
}

func (p *textReader) closeDevice() {
	if p.device != nil {
		p.device.Events = p.log.Events()
	}
}

func (p *textReader) event(kind trace.Kind, f *textFields) error {
	if p.device == nil {
		return errNoDevice
	}
	e := trace.Event{Kind: kind, Absent: trace.NoTime}
	if word := f.next(); word == "-" {
		e.Absent |= trace.NoAddr
	} else {
		e.Addr = f.address(word)
	}
	if word := f.next(); word == "-" {
		e.Absent |= trace.NoSize
	} else {
		e.Size = f.integer(word)
	}
	for key, value := range f.attributes() {
		p.eventField(&e, f, key, value)
	}
	if f.err == nil {
		p.log.Append(e)
	}
	return f.err
}

func (p *textReader) eventField(e *trace.Event, f *textFields, key, value string) {
	switch {
	case key == "@":
		e.Time = f.integer(value)
		e.Absent &^= trace.NoTime
	case key == "stream" && value == "-":
		e.Absent |= trace.NoStream
	case key == "stream":
		e.Stream = f.stream(value)
	case key == "stack":
		e.Stack = f.stack(value)
	case key == "note":
		e.Note = f.note(value)
	default:
		f.unknown(key)
	}
}

func (p *textReader) segment(f *textFields) error {
	if p.device == nil {
		return errNoDevice
	}
	s := trace.Segment{Addr: f.address(f.next()), Size: f.integer(f.next()), Given: trace.GaveAddr | trace.GaveSize}
	for key, value := range f.attributes() {
		p.segmentField(&s, f, key, value)
	}
	p.device.Final.Segments = append(p.device.Final.Segments, s)
	return nil
}

func (p *textReader) segmentField(s *trace.Segment, f *textFields, key, value string) {
	switch key {
	case "device":
		s.Device = f.integer32(value)
		s.Given |= trace.GaveDevice
	case "allocated":
		s.Allocated = f.integer(value)
		s.Given |= trace.GaveAllocated
	case "active":
		s.Active = f.integer(value)
		s.Given |= trace.GaveActive
	case "requested":
		s.Requested = f.integer(value)
		s.Given |= trace.GaveRequested
	case "stream":
		s.Stream = f.stream(value)
		s.Given |= trace.GaveStream
	case "type":
		s.Type = f.name(value)
	case "pool":
		s.Pool = f.pool(value)
	case "expandable":
		s.Expandable = f.boolean(value)
		s.Given |= trace.GaveExpandable
	case "stack":
		s.Stack = f.stack(value)
	case "unaddressed":
		s.Given &^= trace.GaveAddr
	case "unsized":
		s.Given &^= trace.GaveSize
	default:
		f.unknown(key)
	}
}

func (p *textReader) block(f *textFields) error {
	if p.device == nil || len(p.device.Final.Segments) == 0 {
		return errors.New("no segment line comes before this one")
	}
	b := trace.Block{Addr: f.address(f.next()), Size: f.integer(f.next()), Given: trace.GaveAddr | trace.GaveSize}
	for key, value := range f.attributes() {
		p.blockField(&b, f, key, value)
	}
	s := &p.device.Final.Segments[len(p.device.Final.Segments)-1]
	s.Blocks = append(s.Blocks, b)
	return nil
}

func (p *textReader) blockField(b *trace.Block, f *textFields, key, value string) {
	switch key {
	case "requested":
		b.Requested = f.integer(value)
		b.Given |= trace.GaveRequested
	case "stack":
		b.Stack = f.stack(value)
	case "note":
		b.Note = f.note(value)
	case "history":
		b.Given |= trace.GaveHistory
	case "unaddressed":
		b.Given &^= trace.GaveAddr
	case "unsized":
		b.Given &^= trace.GaveSize
	case "as":
		b.StateText = f.name(value)
	default:
		state, ok := stateOf(key)
		if !ok {
			f.unknown(key)
		}
		b.State = state
		b.Given |= trace.GaveState
	}
}

func stateOf(name string) (trace.BlockState, bool) {
	for state := range trace.UnknownState + 1 {
		if state.String() == name {
			return state, true
		}
	}
	return 0, false
}

func (p *textReader) tenant(f *textFields) error {
	if p.device == nil || len(p.device.Final.Segments) == 0 {
		return errors.New("no block line comes before this one")
	}
	s := &p.device.Final.Segments[len(p.device.Final.Segments)-1]
	if len(s.Blocks) == 0 {
		return errors.New("no block line comes before this one")
	}
	h := trace.Tenant{Addr: f.address(f.next()), Requested: f.integer(f.next())}
	for key, value := range f.attributes() {
		if key != "stack" {
			f.unknown(key)
		}
		h.Stack = f.stack(value)
	}
	b := &s.Blocks[len(s.Blocks)-1]
	b.History = append(b.History, h)
	return nil
}
