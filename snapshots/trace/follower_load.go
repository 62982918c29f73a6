package trace

import (
	"cmp"
	"slices"
)

// load replaces the device's memory by the state. It leaves out segments that
// make no sense, and counts each as a problem.
func (f *Follower) load(d *followed, s State) {
	d.changed = true
	f.rules.load(&d.memory, s, func(format string, values ...any) {
		f.problems.Add(d.id, d.log.Len(), format, values...)
	})
}

// load adds a state to an empty memory. It leaves out segments that make no
// sense, and passes the reason to wrong.
func (r *rules) load(m *memory, s State, wrong func(format string, values ...any)) {
	if !slices.IsSortedFunc(s.Segments, byAddress) {
		s.Segments = slices.Clone(s.Segments)
		slices.SortFunc(s.Segments, byAddress)
	}
	m.reserve(min(blocksOf(s.Segments), r.most-r.linked))
	for i := range s.Segments {
		g := s.Segments[i]
		if g.Size <= 0 || g.End() < g.Addr || m.overlaps(g.Addr, g.Size) {
			wrong("segment %#x of %d bytes overlaps another or is empty", g.Addr, g.Size)
			continue
		}
		blocks, ok := tiled(&g)
		if !ok {
			wrong("the blocks of segment %#x do not follow each other", g.Addr)
			continue
		}
		if len(blocks) > r.most-r.linked {
			wrong(tooMany)
			return
		}
		r.linked += len(blocks)
		m.loadSegment(g, blocks)
	}
}

func blocksOf(segments []Segment) (n int) {
	for i := range segments {
		n += len(segments[i].Blocks)
	}
	return n
}

func byAddress(a, b Segment) int { return cmp.Compare(a.Addr, b.Addr) }

// loadSegment adds a segment with its blocks. The segment counts as changed only
// if the blocks differ from those in s.
func (m *memory) loadSegment(s Segment, blocks []Block) {
	head, prev := none, none
	for _, b := range blocks {
		prev = m.add(b, prev, none)
		if head == none {
			head = prev
		}
	}
	changed := len(blocks) != len(s.Blocks)
	m.addSegment(s, head)
	id, _ := m.mapped.get(s.Addr)
	m.segments[id].changed = changed
}

// tiled returns the blocks of s with free ones in the gaps between them, and
// whether they are in order and within the segment.
func tiled(s *Segment) ([]Block, bool) {
	at, gaps := s.Addr, 0
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if b.Size <= 0 || b.Addr < at || b.Addr >= s.End() || uint64(b.Size) > s.End()-b.Addr {
			return nil, false
		}
		if b.Addr > at {
			gaps++
		}
		at = b.Addr + uint64(b.Size)
	}
	if gaps == 0 && at == s.End() {
		return s.Blocks, true
	}
	blocks := make([]Block, 0, len(s.Blocks)+gaps+1)
	at = s.Addr
	for _, b := range s.Blocks {
		blocks = append(appendGap(blocks, at, b.Addr), b)
		at = b.Addr + uint64(b.Size)
	}
	return appendGap(blocks, at, s.End()), true
}
