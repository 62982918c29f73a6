package trace

// # Sizes of blocks
//
// A free event has the bytes that the program had asked for, not the size of the
// block. [Geometry] has the rules for that size: if the allocator does not cut
// off the rest behind a block, the rest belongs to the block.

// typeNames are the interned names of the segment types, absent when the
// trace never uses them.
type typeNames struct{ small, large StringID }

func findTypeNames(t *Trace) typeNames {
	var names typeNames
	for id, text := range t.Tables.Strings {
		switch text {
		case "small":
			names.small = StringID(id)
		case "large":
			names.large = StringID(id)
		}
	}
	return names
}

// of returns the type of a segment of that size that is not expandable.
func (n typeNames) of(size int64) StringID {
	if size == SmallSegment {
		return n.small
	}
	return n.large
}

// isSmall reports whether s belongs to the small pool.
func (n typeNames) isSmall(s *Segment) bool {
	if s.Type == 0 {
		return s.Size == SmallSegment
	}
	return s.Type == n.small
}

// cutFinely reports whether the allocator cuts each rest off the blocks of s.
func (n typeNames) cutFinely(g *Geometry, s *Segment) bool {
	return g.Expandable || s.Expandable || n.isSmall(s)
}

// State returns the memory as it is now: segments in ascending order, each
// cut into live and inactive blocks without gaps. It shares nothing with the
// rewinder.
func (r *Rewinder) State() State {
	state := State{Segments: make([]Segment, 0, r.mapped.count)}
	r.mapped.from(0, func(_ uint64, id int32) bool {
		s := r.segments[id].Segment
		s.Blocks = r.cutIntoBlocks(&s)
		count(&s)
		state.Segments = append(state.Segments, s)
		return true
	})
	return state
}

// cutIntoBlocks returns the blocks of s. It shortens live blocks that overlap;
// only a damaged trace has such blocks.
func (r *Rewinder) cutIntoBlocks(s *Segment) []Block {
	var live []Block
	r.live.from(s.Addr, func(addr uint64, id int32) bool {
		if addr >= s.End() {
			return false
		}
		live = append(live, r.blocks[id])
		return true
	})
	blocks := make([]Block, 0, 2*len(live)+1)
	at := s.Addr
	for i, b := range live {
		blocks = appendGap(blocks, at, b.Addr)
		limit := s.End()
		if i+1 < len(live) {
			limit = live[i+1].Addr
		}
		room := int64(limit - b.Addr)
		if b.Given&(GaveState|GaveSize) == 0 && !r.geometry.Cuts(r.names.cutFinely(&r.geometry, s), b.Size, room-b.Size) {
			b.Size = room
		}
		b.Size = max(0, min(b.Size, room))
		b.Given |= GaveAddr | GaveSize | GaveState
		at = b.Addr + uint64(b.Size)
		blocks = append(blocks, b)
	}
	return appendGap(blocks, at, s.End())
}

func appendGap(blocks []Block, from, to uint64) []Block {
	if from >= to {
		return blocks
	}
	return append(blocks, Block{
		Addr: from, Size: int64(to - from), Stack: EmptyStack, State: Inactive,
		Given: GaveAddr | GaveSize | GaveRequested | GaveState,
	})
}

// count fills the sums of s from its blocks.
func count(s *Segment) {
	t := s.Sums()
	s.Allocated, s.Active, s.Requested = t.Allocated, t.Active, t.Requested
	s.Given |= GaveAllocated | GaveActive | GaveRequested
}
