package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// AliveAt returns what is held right after an event, the largest first and
// among equals the oldest. Allocations from before recording are among them.
func (x *Index) AliveAt(at int) []trace.Allocation {
	return sorted(x.alive(x.clamp(at)), bySize)
}

// LargestAt returns the first n of AliveAt, and how many there are in all.
func (x *Index) LargestAt(at, n int) ([]trace.Allocation, int) {
	all := x.AliveAt(at)
	return all[:min(n, len(all))], len(all)
}

// holding is what one stack holds at some moment.
type holding struct {
	stack       trace.StackID
	bytes       int64
	count       int
	heldBytes   int64 // of bytes, from before recording
	heldCount   int
	unknown     int64 // of heldBytes, where the allocation's stack is not known
	unknownMany int
}

// known returns the bytes and count of what is known to come from the stack.
func (h *holding) known() (int64, int) { return h.bytes - h.unknown, h.count - h.unknownMany }

// holdingsAt groups what is held right after an event by stack, in order of
// stack number. An absent and an empty stack are the same.
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

// hold adds an allocation to what its stack holds.
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

// Holder is one stack and what it holds.
type Holder struct {
	Stack trace.StackID // 0 for memory from before recording of unknown origin
	Bytes int64
	Count int
	// Of these, what was allocated before recording began.
	Held      int64
	HeldCount int
}

// InTrace returns the bytes and count of what was allocated within the trace.
func (h *Holder) InTrace() (int64, int) { return h.Bytes - h.Held, h.Count - h.HeldCount }

// HoldersAt returns who holds memory right after an event, the largest first.
// All memory whose allocation was not recorded is one holder without a stack.
func (x *Index) HoldersAt(at int) []Holder {
	return holdersOf(x.holdingsAt(at))
}

// KnownHolders leaves out the memory from before recording without a stack:
// there is nothing to say of it but its size.
func KnownHolders(holders []Holder) []Holder {
	return slices.DeleteFunc(slices.Clone(holders), func(h Holder) bool { return h.Stack == 0 })
}

func holdersOf(holdings []holding) []Holder {
	var unknown Holder
	holders := make([]Holder, 0, len(holdings)+1)
	for i := range holdings {
		h := &holdings[i]
		if bytes, count := h.known(); count > 0 {
			holders = append(holders, Holder{h.stack, bytes, count, h.heldBytes - h.unknown, h.heldCount - h.unknownMany})
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
