package trace

import (
	"errors"
	"maps"
)

// StepBlocks has the blocks that a program took from a device's allocator in one step,
// and gave back. PyTorch's counters keep only the highest peak so far, and no one but
// the program may reset them: the peak of any other step is found in its events.
type StepBlocks struct {
	Begun              int64         // bytes in use when the step began
	Changes            []BlockChange // in order, one for each request
	Peak, PeakReserved int64         // the most that was in use and reserved, in bytes
}

// BlockChange is a block that a program took. If it gave the block back, the bytes are
// negative.
type BlockChange struct {
	Addr  uint64
	Bytes int64
}

// Why the blocks of a step are not known.
var (
	errHistoryShort  = errors.New("the allocator's history does not reach back to the beginning of the step")
	errHistoryMisled = errors.New("the allocator's history does not lead to its blocks")
)

// Begun is the memory of a device when a step began. A history has no sizes of blocks,
// only requested sizes.
type Begun struct {
	Reserved int64            // bytes
	Blocks   map[uint64]int64 // sizes of the live blocks, by address
}

// NewStepBlocks plays the last events of a device, those of a step that had so many
// requests for blocks and for their return. See "Playing forward".
func NewStepBlocks(t *Trace, d *Device, begun Begun, requests int64) (*StepBlocks, error) {
	first, next, ok := lastRequests(d.Events, requests)
	if !ok {
		return nil, errHistoryShort
	}
	for past := NewRewinder(t, d); next >= first; next-- { // what is no request may be from before the step
		past.To(next - 1)
		if base, ok := past.begun(begun); ok {
			s := &StepBlocks{}
			if !maps.Equal(s.play(t, d, base, next), sizesOf(&d.Final)) {
				break
			}
			return s, nil
		}
	}
	return nil, errHistoryMisled
}

// lastRequests returns the event after the last request but so many, and the request
// that follows it.
func lastRequests(events Events, requests int64) (first, next int, ok bool) {
	next = events.Len()
	for i := next - 1; i >= 0; i-- {
		if k := events.At(i).Kind; k != Alloc && k != FreeRequested {
			continue
		}
		if requests == 0 {
			return i + 1, next, true
		}
		requests--
		next = i
	}
	return 0, next, requests == 0
}

// begun returns the memory, with the sizes that its blocks had, if this is the memory
// with which a step began.
func (r *Rewinder) begun(begun Begun) (State, bool) {
	found := r.live.count == len(begun.Blocks)
	r.live.from(0, func(addr uint64, id int32) bool {
		size, known := begun.Blocks[addr]
		if found = found && known; found {
			b := &r.blocks[id]
			b.Size, b.Given = size, b.Given|GaveSize
		}
		return found
	})
	if !found {
		return State{}, false
	}
	base := r.State()
	return base, base.Reserved() == begun.Reserved
}

// play plays events from a state on. It returns the sizes of the blocks that are live
// afterwards, by address.
func (s *StepBlocks) play(t *Trace, d *Device, base State, first int) map[uint64]int64 {
	rules, m := newRules(t), newMemory(d.ID)
	rules.load(&m, base, func(string, ...any) {})
	for i := range base.Segments {
		s.Begun += base.Segments[i].Allocated
	}
	level, reserved := s.Begun, base.Reserved()
	s.Peak, s.PeakReserved = level, reserved
	rules.replay(&m, d.Events, first, nil, func(_ int, e *Event) {
		reserved += e.ReservedDelta()
		if e.Kind == Alloc || e.Kind == FreeRequested {
			at, _ := m.find(e.Addr)
			bytes := m.links[at].Size
			if e.Kind == FreeRequested {
				bytes = -bytes
			}
			s.Changes = append(s.Changes, BlockChange{e.Addr, bytes})
			level += bytes
		}
		s.Peak, s.PeakReserved = max(s.Peak, level), max(s.PeakReserved, reserved)
	})
	end := m.state()
	return sizesOf(&end)
}

// sizesOf returns the sizes of the live blocks, by address.
func sizesOf(state *State) map[uint64]int64 {
	sizes := make(map[uint64]int64)
	for _, b := range state.Live() {
		sizes[b.Addr] = b.Size
	}
	return sizes
}
