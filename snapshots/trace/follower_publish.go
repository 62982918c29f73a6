package trace

import (
	"fmt"
	"slices"
)

// Publish returns a trace of all that is known now. Its cost depends on what
// changed since the last call: if nothing happened in a segment, the trace shares
// its blocks with the trace before. From now on the trace owns the steps, and the
// data that live points to. Publish copies live itself and fills in the gaps. It
// leaves out a device that has had no memory and no event yet.
func (f *Follower) Publish(steps []Step, live *Live) *Trace {
	t := &Trace{Info: f.info, Tables: f.view(), Settings: f.settings, Steps: steps, Pinned: f.pinned}
	for _, d := range f.devices {
		if d.changed {
			d.state, d.changed = d.memory.state(), false
		}
		if d.log.Len() == 0 && len(d.state.Segments) == 0 {
			continue
		}
		t.Devices = append(t.Devices, Device{
			ID: d.id, Events: d.log.Events(), First: d.first, Base: d.base, Final: d.state, Overflowed: d.overflowed,
		})
		t.Info.TraceLists = d.id + 1
	}
	if live != nil {
		said := *live
		said.Gaps = slices.Clip(f.gaps)
		t.Live = &said
	}
	if n := f.problems.Count; n > 0 {
		t.Notices = append(t.Notices, fmt.Sprintf(
			"%d events contradict what came before them: the state may be wrong (the first: %s)", n, f.problems.First[0]))
	}
	return t
}

// view returns the tables. If nothing was added, it returns the same view as the
// last time.
func (f *Follower) view() *Tables {
	if v, t := f.tables, &f.in.Tables; v == nil || len(v.Strings) != len(t.Strings) || len(v.Frames) != len(t.Frames) ||
		len(v.stacks) != len(t.stacks) || len(v.Notes) != len(t.Notes) || len(v.Streams) != len(t.Streams) ||
		len(v.Pools) != len(t.Pools) || len(v.Lists) != len(t.Lists) {
		view := f.in.View()
		f.tables = &view
	}
	return f.tables
}

// state returns the memory as it is now. If nothing happened in a segment, it
// shares its blocks with the state returned before.
func (m *memory) state() State {
	state := State{Segments: make([]Segment, 0, m.mapped.count)}
	m.mapped.from(0, func(_ uint64, id int32) bool {
		s := &m.segments[id]
		if s.changed {
			s.Blocks, s.changed = m.blocks(s), false
			count(&s.Segment)
		}
		state.Segments = append(state.Segments, s.Segment)
		return true
	})
	return state
}

func (m *memory) blocks(s *stretch) []Block {
	n := 0
	for i := s.head; i != none; i = m.links[i].next {
		n++
	}
	blocks := make([]Block, 0, n)
	for i := s.head; i != none; i = m.links[i].next {
		blocks = append(blocks, m.links[i].Block)
	}
	return blocks
}
