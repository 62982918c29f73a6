package trace

import "iter"

// BlockState says whether a block is in use.
type BlockState uint8

// The states of a block. Pending free means that the program freed the block, but
// another stream may still use it.
const (
	Inactive BlockState = iota
	Allocated
	PendingFree
	UnknownState
)

var stateNames = [...]string{"inactive", "active_allocated", "active_pending_free", "unknown"}

// String returns the state as PyTorch writes it.
func (s BlockState) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// Live reports whether the block is in use or pending free, so that the allocator
// cannot hand its memory out.
func (s BlockState) Live() bool { return s == Allocated || s == PendingFree }

// Given says which optional fields of a segment or block its writer gave.
type Given uint16

// The optional fields of segments and blocks.
const (
	GaveAddr Given = 1 << iota
	GaveRequested
	GaveAllocated
	GaveActive
	GaveStream
	GaveType
	GavePool
	GaveExpandable
	GaveHistory
	GaveDevice
	GaveState
	GaveSize
)

// Block is a piece of a segment.
type Block struct {
	Addr      uint64
	Size      int64 // bytes it occupies, rounded
	Requested int64 // bytes the program asked for; stale on inactive blocks
	Stack     StackID
	Note      NoteID
	StateText StringID // as written, if State cannot say it
	State     BlockState
	Given     Given
	History   []Tenant // PyTorch 1.13 and 2.0 only; the first is the latest
}

// LiveRequested returns the requested bytes of a live block: as the writer gave
// them, else as the block's history has them, else the block's size. It returns 0
// if the block is not live.
func (b *Block) LiveRequested() int64 {
	switch {
	case !b.State.Live():
		return 0
	case len(b.History) > 0:
		return b.History[0].Requested
	case b.Given&GaveRequested != 0:
		return b.Requested
	default:
		return b.Size
	}
}

// LiveStack returns the allocation's stack.
func (b *Block) LiveStack() StackID {
	if len(b.History) > 0 {
		return b.History[0].Stack
	}
	return b.Stack
}

// Tenant is one entry of a block's history in old files: an allocation that had
// this address.
type Tenant struct {
	Addr      uint64
	Requested int64
	Stack     StackID
}

// Segment is one range of memory obtained from the driver.
type Segment struct {
	Addr      uint64
	Size      int64 // bytes, the sum of its blocks'
	Allocated int64 // as its writer counted
	Active    int64 // as its writer counted
	Requested int64 // as its writer counted
	Blocks    []Block
	Given     Given
	SegmentFacts
}

// SegmentFacts are what a segment keeps when it grows, shrinks or is cut. They are
// copied as a whole: a new one needs its place in the files that have it, and
// where it is shown. See "What a change touches" in docs/README.md.
type SegmentFacts struct {
	Stack      StackID // where it was obtained
	Stream     StreamID
	Pool       PoolID   // 0 when not known
	Type       StringID // "small" or "large"
	Device     int32
	Expandable bool
}

// factsOf returns what an event says of its segment.
func (t *Tables) factsOf(e *Event, device int32) SegmentFacts {
	return SegmentFacts{
		Stack: e.Stack, Stream: e.Stream, Pool: t.Notes[e.Note].Pool, Device: device,
		Expandable: e.Kind == SegmentMap || e.Kind == SegmentUnmap,
	}
}

// Sums is what the blocks of a segment have together, in bytes.
type Sums struct {
	Allocated, Active, Requested int64 // of the live ones: in use, pending too, as they were asked for
	Free, LargestFree            int64
}

// Sums adds its blocks up.
func (s *Segment) Sums() (t Sums) {
	for i := range s.Blocks {
		switch b := &s.Blocks[i]; {
		case b.State.Live():
			t.Active += b.Size
			t.Requested += b.LiveRequested()
			if b.State == Allocated {
				t.Allocated += b.Size
			}
		case b.State == Inactive:
			t.Free += b.Size
			t.LargestFree = max(t.LargestFree, b.Size)
		}
	}
	return t
}

// End returns the address after the segment's last byte.
func (s *Segment) End() uint64 { return s.Addr + uint64(s.Size) }

// State is the allocator's memory at one moment: its segments in ascending order
// of their addresses.
type State struct {
	Segments []Segment
}

// Live returns the live blocks with their segments, by address.
func (s *State) Live() iter.Seq2[*Segment, *Block] {
	return func(yield func(*Segment, *Block) bool) {
		for i := range s.Segments {
			for k := range s.Segments[i].Blocks {
				if b := &s.Segments[i].Blocks[k]; b.State.Live() && !yield(&s.Segments[i], b) {
					return
				}
			}
		}
	}
}

// Reserved returns the bytes of all segments.
func (s *State) Reserved() int64 {
	var bytes int64
	for i := range s.Segments {
		bytes += s.Segments[i].Size
	}
	return bytes
}
