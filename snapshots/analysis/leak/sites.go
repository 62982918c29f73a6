package leak

import "github.com/memtop/memtop/snapshots/trace"

// site is the properties that the allocations of one site share: the stack that
// made them or, if none is known, their tag.
type site struct {
	stack       trace.StackID
	layer, role trace.StringID
	note        trace.NoteID // the first that says so
}

// id returns the site's public number, which does not depend on when it was
// first seen.
func (s *site) id() SiteID {
	if s.stack > 0 {
		return SiteID(s.stack)
	}
	return -SiteID(s.note)
}

// tag is what an allocation is for.
type tag struct{ layer, role trace.StringID }

// Sites lists the creation sites of a trace. The first is of memory of which
// nothing is known.
type Sites struct {
	list   []site
	tags   map[tag]int32 // place in list
	stacks []int32       // place by stack, 0 for none
	notes  []int32       // place by note
}

// NewSites returns a list of the one site of which nothing is known.
func NewSites() *Sites { return &Sites{list: make([]site, 1), tags: make(map[tag]int32)} }

// Read adds the sites of the tables' new stacks and notes.
func (s *Sites) Read(t *trace.Tables) {
	for id := len(s.stacks); id < t.StackCount(); id++ {
		at := int32(0)
		if trace.StackID(id) > trace.EmptyStack {
			at = int32(len(s.list))
			s.list = append(s.list, site{stack: trace.StackID(id)})
		}
		s.stacks = append(s.stacks, at)
	}
	for id := len(s.notes); id < len(t.Notes); id++ {
		n := &t.Notes[id]
		key, at := tag{n.Layer, n.Role}, int32(0)
		if n.Layer > trace.EmptyString || n.Role > trace.EmptyString {
			var ok bool
			if at, ok = s.tags[key]; !ok {
				at = int32(len(s.list))
				s.tags[key] = at
				s.list = append(s.list, site{layer: n.Layer, role: n.Role, note: trace.NoteID(id)})
			}
		}
		s.notes = append(s.notes, at)
	}
}

// place returns the place in the list of the site of a stack and a note. The
// stack of a free does not count, because it does not say where memory was made.
func (s *Sites) place(stack trace.StackID, note trace.NoteID, freeStack bool) int32 {
	if at := s.stacks[stack]; at > 0 && !freeStack {
		return at
	}
	return s.notes[note]
}

// Of returns the site of an allocation.
func (s *Sites) Of(a *trace.Allocation) SiteID {
	return s.list[s.place(a.Stack, a.Note, a.FreeStack)].id()
}
