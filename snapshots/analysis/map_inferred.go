package analysis

import "github.com/memtop/memtop/snapshots/trace"

// readFinal returns the writer's own state, with the allocation of each block.
func (x *mapper) readFinal() *Map {
	if x.uncached {
		return x.sumMap(x.End())
	}
	alive := sorted(x.alive(x.End()), byAddress)
	m := &Map{At: x.End(), Exact: true, Segments: make([]MapSegment, len(x.device.Final.Segments))}
	for i := range x.device.Final.Segments {
		from := &x.device.Final.Segments[i]
		s := &m.Segments[i]
		*s = x.newSegment(from)
		s.Blocks = make([]MapBlock, len(from.Blocks))
		for b := range from.Blocks {
			alive = s.Blocks[b].fill(&from.Blocks[b], alive)
		}
		if s.Class == "" {
			s.Class = typeBySize(s.Size)
		}
	}
	m.measure()
	return m
}

// newSegment returns a segment of a map, without its blocks.
func (x *mapper) newSegment(from *trace.Segment) MapSegment {
	return MapSegment{SegmentFacts: from.SegmentFacts, Addr: from.Addr, Size: from.Size, Class: x.tables.String(from.Type)}
}

// segmentHistory returns the history of reserved memory.
func (x *mapper) segmentHistory() *trace.SegmentHistory {
	return x.segments.get(x, func(h *trace.SegmentHistory) *trace.SegmentHistory {
		if h != nil && len(h.Changes()) == len(x.segmentEvents) {
			return h // the final segments are still the same
		}
		return trace.NewSegmentHistory(x.trace, x.device, x.segmentEvents)
	})
}

// blockSizes returns the sizes of the allocations' blocks.
func (x *mapper) blockSizes() *trace.BlockSizes {
	return x.sizes.get(x, func(b *trace.BlockSizes) *trace.BlockSizes {
		if b == nil || x.device.Base == nil { // another end may have another base
			return trace.NewBlockSizes(x.trace, x.device, x.life)
		}
		b.Advance(x.trace, x.device)
		return b
	})
}

// fill copies a final block and finds its allocation in alive. It returns the
// part of alive at higher addresses.
func (b *MapBlock) fill(from *trace.Block, alive []trace.Allocation) []trace.Allocation {
	*b = MapBlock{Addr: from.Addr, Size: from.Size, State: from.State, Requested: from.LiveRequested()}
	if !from.State.Live() {
		return alive
	}
	b.Stack = from.LiveStack()
	for len(alive) > 0 && alive[0].Addr < b.Addr {
		alive = alive[1:]
	}
	if len(alive) > 0 && alive[0].Addr == b.Addr {
		b.Allocation, b.Known = alive[0].ID, true
		if b.Stack == 0 && !alive[0].FreeStack {
			b.Stack = alive[0].Stack
		}
	}
	return alive
}

// inferrer places allocations into segments.
type inferrer struct {
	mapper *mapper
	sizes  *trace.BlockSizes
	at     int
	asked  *trace.Event       // event at, if it asks to free a block
	alive  []trace.Allocation // by address, those not yet placed
	final  []*trace.Block     // live blocks of the final state, by address, not yet passed
	arena  []MapBlock         // all blocks, with room for the rest: pointers into it stay good
	out    *Map
}

func (x *mapper) inferMap(at int) *Map {
	if x.uncached {
		return x.sumMap(at)
	}
	segments := x.segmentHistory().At(at)
	out := &Map{At: at, Segments: make([]MapSegment, len(segments))}
	f := x.newInferrer(out)
	for i := range segments {
		out.Segments[i] = f.place(&segments[i])
	}
	f.skipTo(^uint64(0))
	out.measure()
	return out
}

// newInferrer returns an inferrer that places the allocations that are alive into the
// segments of out.
func (x *mapper) newInferrer(out *Map) *inferrer {
	alive := sorted(x.alive(out.At), byAddress)
	f := &inferrer{
		mapper: x, sizes: x.blockSizes(), at: out.At, alive: alive,
		final: x.finalBlocks(), arena: make([]MapBlock, 0, 2*len(alive)+len(out.Segments)), out: out,
	}
	if out.At >= 0 && x.events.At(out.At).Kind == trace.FreeRequested {
		f.asked = x.events.At(out.At)
	}
	return f
}

// finalBlocks returns the live blocks of the final state, by address.
func (x *mapper) finalBlocks() []*trace.Block {
	return x.blocks.get(x, func([]*trace.Block) (live []*trace.Block) {
		for _, b := range x.device.Final.Live() {
			live = append(live, b)
		}
		return live
	})
}

// skipTo counts the allocations below addr as lying outside every segment.
func (f *inferrer) skipTo(addr uint64) {
	for len(f.alive) > 0 && f.alive[0].Addr < addr {
		f.out.Outside += f.alive[0].Size
		f.out.OutsideCount++
		f.alive = f.alive[1:]
	}
}

// place makes a segment of the map from a segment and the allocations that lie in
// it.
func (f *inferrer) place(from *trace.Segment) MapSegment {
	f.skipTo(from.Addr)
	n := 0
	for n < len(f.alive) && f.alive[n].Addr < from.End() {
		n++
	}
	s := f.mapper.newSegment(from)
	if s.Class == "" {
		s.Class = inferType(from, f.alive[:n])
	}
	at, first := from.Addr, len(f.arena)
	for i := range n {
		next := from.End()
		if i+1 < n {
			next = f.alive[i+1].Addr
		}
		f.addFree(at, f.alive[i].Addr)
		f.arena = append(f.arena, f.block(&f.alive[i], next))
		at = f.alive[i].Addr + uint64(f.arena[len(f.arena)-1].Size)
	}
	f.addFree(at, from.End())
	s.Blocks = f.arena[first:len(f.arena):len(f.arena)]
	f.alive = f.alive[n:]
	return s
}

func (f *inferrer) addFree(from, to uint64) {
	if from < to {
		f.arena = append(f.arena, MapBlock{Addr: from, Size: int64(to - from), State: trace.Inactive})
	}
}

// inferType infers a segment's size class, for segments whose writer did not note
// it.
func inferType(s *trace.Segment, blocks []trace.Allocation) string {
	if s.Expandable && len(blocks) > 0 {
		if blocks[0].Size <= trace.SmallLimit {
			return "small"
		}
		return "large"
	}
	return typeBySize(s.Size)
}

func typeBySize(size int64) string {
	if size == trace.SmallSegment {
		return "small"
	}
	return "large"
}

// block makes the block of a live allocation that may reach up to limit.
func (f *inferrer) block(a *trace.Allocation, limit uint64) MapBlock {
	b := MapBlock{
		Addr: a.Addr, Requested: a.Size, Stack: a.Stack, Allocation: a.ID, Known: true,
		State: trace.Allocated, Size: f.size(a, int64(limit-a.Addr)),
	}
	if a.FreeStack {
		b.Stack = 0
	}
	if asked := f.mapper.life.RequestedFree(a); asked <= f.at || f.asked != nil && a.Addr == f.asked.Addr || f.waiting(a, asked) {
		b.State = trace.PendingFree
	}
	b.Requested = min(b.Requested, b.Size)
	return b
}

// waiting reports whether the allocation was pending free from before the first
// event. That is so if it is pending free at the end, or its free is completed,
// but no event requested the free. asked is the event that requested it.
func (f *inferrer) waiting(a *trace.Allocation, asked int) bool {
	events := f.mapper.events
	switch {
	case a.Open >= 0:
		return false
	case a.Close == trace.Never:
		return len(f.final) > 0 && f.final[0].Addr == a.Addr && f.final[0].State == trace.PendingFree &&
			asked == trace.Never
	case events.At(a.Close).Kind != trace.FreeCompleted || asked != a.Close:
		return false
	case a.Close == 0:
		return true
	}
	last := events.At(a.Close - 1)
	return last.Kind != trace.FreeRequested || last.Addr != a.Addr
}

// size returns how many of room bytes the allocation's block takes: by the final
// state, else by the allocator's rules.
func (f *inferrer) size(a *trace.Allocation, room int64) int64 {
	if a.Close == trace.Never {
		for len(f.final) > 0 && f.final[0].Addr < a.Addr {
			f.final = f.final[1:]
		}
		if len(f.final) > 0 && f.final[0].Addr == a.Addr {
			return min(f.final[0].Size, room)
		}
	}
	return min(f.sizes.Of(a), room)
}
