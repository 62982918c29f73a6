package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// AliveAt returns the allocations that are alive right after an event, the
// largest first and of equal sizes the oldest first. It includes allocations from
// before recording.
func (x *Index) AliveAt(at int) []trace.Allocation {
	return sorted(x.alive(x.clamp(at)), bySize)
}

// holding is the memory that one stack holds at some moment.
type holding struct {
	stack       trace.StackID
	bytes       int64
	count       int
	heldBytes   int64 // of bytes, from before recording
	heldCount   int
	unknown     int64 // of heldBytes, with an unknown allocation stack
	unknownMany int
}

// known returns the bytes and the count of the allocations that the stack is
// known to have made.
func (h *holding) known() (int64, int) { return h.bytes - h.unknown, h.count - h.unknownMany }

// holdingsAt groups the live allocations right after an event by stack, in order
// of stack numbers. An absent and an empty stack are the same.
func (x *Index) holdingsAt(at int) []holding { return x.holdingsOf(x.alive(x.clamp(at))) }

func (x *Index) holdingsOf(alive []trace.Allocation) []holding {
	all := make([]holding, x.tables.StackCount())
	for i := range alive {
		hold(all, &alive[i])
	}
	some := all[:0]
	for id := range all {
		if all[id].count > 0 {
			all[id].stack = trace.StackID(id)
			some = append(some, all[id])
		}
	}
	return some
}

// hold adds an allocation to the holding of its stack.
func hold(all []holding, a *trace.Allocation) {
	h := &all[max(a.Stack, trace.EmptyStack)]
	h.bytes += a.Size
	h.count++
	if a.Open >= 0 {
		return
	}
	h.heldBytes += a.Size
	h.heldCount++
	if a.FreeStack || a.Stack <= trace.EmptyStack {
		h.unknown += a.Size
		h.unknownMany++
	}
}

// Holder is one stack and the memory that it holds.
type Holder = lines.Holding

// HoldersAt returns the stacks that hold memory right after an event, the largest
// first. All memory whose allocation was not recorded is one holder without a
// stack.
func (x *Index) HoldersAt(at int) []Holder {
	return holdersOf(x.holdingsAt(at))
}

// KnownHolders leaves out the memory from before recording without a stack, of
// which only the size is known.
func KnownHolders(holders []Holder) []Holder {
	return slices.DeleteFunc(slices.Clone(holders), func(h Holder) bool { return h.Stack == 0 })
}

func holdersOf(holdings []holding) []Holder {
	var unknown Holder
	holders := make([]Holder, 0, len(holdings)+1)
	for i := range holdings {
		h := &holdings[i]
		if bytes, count := h.known(); count > 0 {
			holders = append(holders, Holder{Stack: h.stack, Bytes: bytes, Count: count, Held: h.heldBytes - h.unknown, HeldCount: h.heldCount - h.unknownMany})
		}
		unknown.Bytes += h.unknown
		unknown.Count += h.unknownMany
	}
	if unknown.Count > 0 {
		unknown.Held, unknown.HeldCount = unknown.Bytes, unknown.Count
		holders = append(holders, unknown)
	}
	slices.SortStableFunc(holders, func(a, b Holder) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return holders
}

// HolderName names a holder in one short line.
func (x *Index) HolderName(h Holder) string {
	if h.Stack == 0 {
		return HeldBefore
	}
	return x.StackName(h.Stack)
}
