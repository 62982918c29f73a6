package trace

import "math"

// # Sizes of blocks
//
// A free event has the bytes that the program had asked for, not those of the
// block. The allocator rounds requests up to 512 bytes. In a large pool it
// also gives away the rest of a free block when that is at most 1 MiB, so a
// gap of at most that after a large block belongs to it: a free block there
// is always larger.

const (
	blockUnit    = 512
	smallBuffer  = 2 << 20 // the size of a segment in a small pool
	largestStray = 1 << 20 // the largest gap that cannot be a free block in a large pool
)

// roundUp returns the bytes that a request occupies at least.
func roundUp(size int64) int64 {
	if size > math.MaxInt64-blockUnit {
		return size
	}
	return (size + blockUnit - 1) / blockUnit * blockUnit
}

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

// of returns the type of a segment of that size which is not expandable.
func (n typeNames) of(size int64) StringID {
	if size == smallBuffer {
		return n.small
	}
	return n.large
}

// isLarge reports whether s serves large requests from whole segments.
func (n typeNames) isLarge(s *Segment) bool {
	if s.Type == 0 {
		return !s.Expandable && s.Size != smallBuffer
	}
	return !s.Expandable && s.Type == n.large
}

// State returns the memory as it is now: segments in ascending order, each
// cut into live and inactive blocks without gaps. It shares nothing with the
// rewinder.
func (r *Rewinder) State() State {
	state := State{Segments: make([]Segment, 0, r.mapped.count)}
	r.mapped.from(0, func(_ uint64, id int32) bool {
		s := r.segments[id]
		s.Blocks = r.cutIntoBlocks(&s)
		count(&s)
		state.Segments = append(state.Segments, s)
		return true
	})
	return state
}

// cutIntoBlocks returns the blocks of s. Live blocks that overlap, which only
// a damaged trace has, are shortened.
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
		if b.Given&GaveState == 0 && r.names.isLarge(s) && room-b.Size <= largestStray {
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
	s.Allocated, s.Active, s.Requested = 0, 0, 0
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if b.State == Allocated {
			s.Allocated += b.Size
		}
		if b.State.Live() {
			s.Active += b.Size
			s.Requested += b.LiveRequested()
		}
	}
	s.Given |= GaveAllocated | GaveActive | GaveRequested
}
