package analysis

import (
	"cmp"
	"slices"

	"memtop/snapshots/trace"
)

// AliveAt returns what is held right after an event, the largest first and
// among equals the oldest. Allocations from before recording are among them.
func (x *Index) AliveAt(at int) []trace.Allocation {
	at = x.clamp(at)
	var alive []trace.Allocation
	x.life.Alive(at, func(id trace.AllocationID) bool {
		alive = append(alive, x.life.Allocation(id))
		return true
	})
	slices.SortFunc(alive, func(a, b trace.Allocation) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Open, b.Open), cmp.Compare(a.ID, b.ID))
	})
	return alive
}

// holding is what one stack holds at some moment.
type holding struct {
	stack       trace.StackID
	bytes       int64
	count       int
	heldBytes   int64 // of bytes, from before recording
	heldCount   int
	unknown     int64 // of heldBytes, where the stack is not the allocation's
	unknownMany int
}

// inTrace returns the bytes and count of what was allocated within the trace.
func (h *holding) inTrace() (int64, int) { return h.bytes - h.heldBytes, h.count - h.heldCount }

// known returns the bytes and count of what is known to come from the stack.
func (h *holding) known() (int64, int) { return h.bytes - h.unknown, h.count - h.unknownMany }

// holdingsAt groups what is held right after an event by stack, in order of
// stack number. An absent and an empty stack are the same.
func (x *Index) holdingsAt(at int) []holding {
	all := make([]holding, x.tables.StackCount())
	x.life.Alive(x.clamp(at), func(id trace.AllocationID) bool {
		a := x.life.Allocation(id)
		h := &all[max(a.Stack, trace.EmptyStack)]
		h.bytes += a.Size
		h.count++
		if a.Open < 0 {
			h.heldBytes += a.Size
			h.heldCount++
			if a.FreeStack {
				h.unknown += a.Size
				h.unknownMany++
			}
		}
		return true
	})
	some := all[:0]
	for id := range all {
		if all[id].count > 0 {
			all[id].stack = trace.StackID(id)
			some = append(some, all[id])
		}
	}
	return some
}

// Holder is one stack and what it holds.
type Holder struct {
	Stack trace.StackID
	Bytes int64
	Count int
	Held  int64 // of Bytes, allocated before recording began
}

// HoldersAt returns who holds memory right after an event, the largest first.
func (x *Index) HoldersAt(at int) []Holder {
	holdings := x.holdingsAt(at)
	holders := make([]Holder, len(holdings))
	for i, h := range holdings {
		holders[i] = Holder{h.stack, h.bytes, h.count, h.heldBytes}
	}
	slices.SortStableFunc(holders, func(a, b Holder) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return holders
}
