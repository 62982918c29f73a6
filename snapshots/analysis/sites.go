package analysis

import "memtop/snapshots/trace"

// siteKey is what makes two allocations be of one site: the stack they were
// made by, or where none is known what they are for.
type siteKey struct {
	stack       trace.StackID
	layer, role trace.StringID
}

// sites numbers the creation sites of an index. The first is of memory of
// which nothing is known.
type sites struct {
	keys    []siteKey
	numbers map[siteKey]SiteID
	stacks  []SiteID // by stack, 0 where not numbered yet
	notes   []SiteID // by note
}

func newSites() *sites {
	return &sites{keys: make([]siteKey, 1), numbers: make(map[siteKey]SiteID)}
}

// read numbers the sites of the tables' new stacks and notes.
func (s *sites) read(t *trace.Tables) {
	for id := len(s.stacks); id < t.StackCount(); id++ {
		var site SiteID
		if trace.StackID(id) > trace.EmptyStack {
			site = s.number(siteKey{stack: trace.StackID(id)})
		}
		s.stacks = append(s.stacks, site)
	}
	for id := len(s.notes); id < len(t.Notes); id++ {
		var site SiteID
		if n := &t.Notes[id]; n.Layer > trace.EmptyString || n.Role > trace.EmptyString {
			site = s.number(siteKey{layer: n.Layer, role: n.Role})
		}
		s.notes = append(s.notes, site)
	}
}

func (s *sites) number(key siteKey) SiteID {
	id, ok := s.numbers[key]
	if !ok {
		id = SiteID(len(s.keys))
		s.numbers[key] = id
		s.keys = append(s.keys, key)
	}
	return id
}

// at returns the site of a stack and a note. The stack of a free says nothing
// of where something was made.
func (s *sites) at(stack trace.StackID, note trace.NoteID, freeStack bool) SiteID {
	if id := s.stacks[stack]; id > 0 && !freeStack {
		return id
	}
	return s.notes[note]
}

func (s *sites) of(a *trace.Allocation) SiteID { return s.at(a.Stack, a.Note, a.FreeStack) }

// sites returns the numbers of all sites.
func (x *Index) sites() *sites {
	x.lazy.sitesOnce.Do(func() {
		if x.numbered == nil {
			x.numbered = newSites()
		}
		x.numbered.read(x.tables)
	})
	return x.numbered
}

// siteName names a site by what it makes or, where that is not noted, by where.
func (x *Index) siteName(id SiteID) string {
	key := x.numbered.keys[id]
	switch {
	case key.stack > 0:
		return x.StackName(key.stack)
	case id > 0:
		return tagName(x.tables, key.layer, key.role)
	default:
		return HeldBefore
	}
}
