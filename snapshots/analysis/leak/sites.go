package leak

import (
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// site is the properties that the allocations of one site share: what keeps them,
// the stack that made them or, if neither is known, their tag.
type site struct {
	stack trace.StackID
	note  trace.NoteID // the first of that keeper or tag
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
	list    []site
	tags    map[tag]int32    // place in list
	keepers map[string]int32 // place in list
	stacks  []int32          // place by stack, 0 for none
	notes   []int32          // place by note
	kept    []bool           // by note: its place is that of a keeper
	joined  []int32          // by stack: the place of the keeper of what it made, 0 for none, severalKeepers
	joins   int              // how often joined has changed
	n       int              // events read
	heldN   int
}

const severalKeepers = -1

// NewSites returns a list of the one site of which nothing is known.
func NewSites() *Sites {
	return &Sites{list: make([]site, 1), tags: make(map[tag]int32), keepers: make(map[string]int32)}
}

// Keeper returns what keeps memory of that role, with the line that adds to it, ""
// if the role does not say it. docs/protocol.md has the form of roles.
func Keeper(role string) string {
	const by = "kept by "
	if strings.HasPrefix(role, by) {
		return role[len(by):]
	}
	_, keeper, _ := strings.Cut(role, ", "+by)
	return keeper
}

// HasGraph reports whether what a keeper keeps are results with the graph that made
// them. The agent for PyTorch says so, and sees what a graph keeps only in the steps
// that it looks at.
func HasGraph(keeper string) bool { return strings.Contains(keeper, " with its graph") }

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
		at, keeper := int32(0), Keeper(t.String(n.Role))
		switch {
		case keeper != "":
			at = placed(s, s.keepers, keeper, trace.NoteID(id))
		case n.Layer > trace.EmptyString || n.Role > trace.EmptyString:
			at = placed(s, s.tags, tag{n.Layer, n.Role}, trace.NoteID(id))
		}
		s.notes, s.kept = append(s.notes, at), append(s.kept, keeper != "")
	}
}

// Join reads the events that came since, and learns which keeper keeps what a stack
// made. A program names what it keeps only now and then: until it does, the rest of
// the same stack belongs to the same keeper, if there is only one.
func (s *Sites) Join(life *trace.Lifetimes) {
	s.joined = append(s.joined, make([]int32, len(s.stacks)-len(s.joined))...)
	if s.heldN != len(life.Held) {
		s.n, s.heldN = 0, len(life.Held)
	}
	if s.n == 0 {
		for k := range life.Held {
			if held := &life.Held[k]; !held.FreeStack {
				s.join(held.Stack, held.Note)
			}
		}
	}
	events := life.Events()
	if len(s.keepers) > 0 {
		for i, e := range events.Range(s.n, events.Len()) {
			s.read(life, i, e)
		}
	}
	s.n = events.Len()
}

// read applies event i.
func (s *Sites) read(life *trace.Lifetimes, i int, e *trace.Event) {
	if e.Kind != trace.Alloc && e.Kind != trace.Retag || !s.kept[e.Note] {
		return
	}
	if a, ok := life.About(i); ok && !a.FreeStack {
		s.join(a.Stack, e.Note)
	}
}

func (s *Sites) join(stack trace.StackID, note trace.NoteID) {
	if s.stacks[stack] == 0 || !s.kept[note] {
		return
	}
	switch at := s.notes[note]; s.joined[stack] {
	case at, severalKeepers:
	case 0:
		s.joined[stack] = at
		s.joins++
	default:
		s.joined[stack] = severalKeepers
		s.joins++
	}
}

// placed returns the place of the site with a key, which may be new.
func placed[Key comparable](s *Sites, places map[Key]int32, key Key, note trace.NoteID) int32 {
	at, ok := places[key]
	if !ok {
		at = int32(len(s.list))
		places[key] = at
		s.list = append(s.list, site{note: note})
	}
	return at
}

// place returns the place in the list of the site of a stack and a note. What
// keeps memory counts more than what made it: several lines may make what one list
// keeps, and memory from before the recording has no stack. The stack of a free
// does not count, because it does not say where memory was made.
func (s *Sites) place(stack trace.StackID, note trace.NoteID, freeStack bool) int32 {
	if s.kept[note] {
		return s.notes[note]
	}
	if at := s.stacks[stack]; at > 0 && !freeStack {
		if keeper := s.joined[stack]; keeper > 0 && s.notes[note] == 0 {
			return keeper
		}
		return at
	}
	return s.notes[note]
}

// placeOf returns the place of a site. A stack may be a site of its own, of what the
// program has a name for, though a keeper has the rest of it.
func (s *Sites) placeOf(id SiteID) int32 {
	if id > 0 {
		return s.stacks[id.Stack()]
	}
	return s.notes[id.Note()]
}

// Of returns the site of an allocation.
func (s *Sites) Of(a *trace.Allocation) SiteID {
	return s.list[s.place(a.Stack, a.Note, a.FreeStack)].id()
}
