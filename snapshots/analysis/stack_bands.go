package analysis

import (
	"cmp"
	"slices"

	"memtop/snapshots/trace"
)

// stackSeries gives a band to each of the stacks that at some moment hold the
// most, over the whole trace so that a band keeps its place while zooming.
func (x *Index) stackSeries() *series {
	lazy := &x.lazy.byStack
	lazy.once.Do(func() {
		top := x.topStacks(bandCount)
		band := make([]uint8, x.tables.StackCount())
		for id := range band {
			band[id] = uint8(len(top))
		}
		for b, id := range top {
			band[id] = uint8(b)
		}
		band[0] = band[trace.EmptyStack]
		x.lazy.topStacks = top
		lazy.series = x.newSeries(len(top)+2,
			func(e *trace.Event) int { return int(band[e.Stack]) },
			func(k int) int { return x.heldStackBand(k, band, len(top)+1) })
	})
	return lazy.series
}

// heldStackBand keeps apart what was held from before by a stack nobody knows.
func (x *Index) heldStackBand(k int, band []uint8, unknown int) int {
	h := &x.life.Held[k]
	if h.FreeStack || h.Stack <= trace.EmptyStack {
		return unknown
	}
	return int(band[h.Stack])
}

// topStacks returns the stacks with the highest level of their own.
func (x *Index) topStacks(n int) []trace.StackID {
	peaks := x.stackPeaks()
	ids := make([]trace.StackID, 0, len(peaks))
	for id, bytes := range peaks {
		if bytes > 0 {
			ids = append(ids, trace.StackID(id))
		}
	}
	slices.SortStableFunc(ids, func(a, b trace.StackID) int { return cmp.Compare(peaks[b], peaks[a]) })
	return ids[:min(n, len(ids))]
}

// stackPeaks returns, by stack, the most bytes that it ever held at once. An
// absent stack counts as the empty one.
func (x *Index) stackPeaks() []int64 {
	s := &series{
		alloc: func(e *trace.Event) int { return int(max(e.Stack, trace.EmptyStack)) },
		held:  func(k int) int { return x.heldStackSlot(k) },
	}
	now := make([]int64, x.tables.StackCount())
	for k := range x.life.Held {
		now[x.heldStackSlot(k)] += x.life.Held[k].Size
	}
	now[0] = 0
	peaks := slices.Clone(now)
	for i := 0; i < x.events.Len(); {
		span := x.events.Span(i)
		for j := range span {
			e := &span[j]
			s.step(x, now, i+j, e)
			if e.Kind == trace.Alloc {
				slot := s.alloc(e)
				peaks[slot] = max(peaks[slot], now[slot])
			}
		}
		i += len(span)
	}
	peaks[0] = 0
	return peaks
}

// heldStackSlot is 0, which no allocation of the trace uses, when nobody knows
// the stack.
func (x *Index) heldStackSlot(k int) int {
	h := &x.life.Held[k]
	if h.FreeStack || h.Stack <= trace.EmptyStack {
		return 0
	}
	return int(h.Stack)
}

func (x *Index) fillStacks(columns []Column) []Band {
	s := x.stackSeries()
	x.fillSeries(s, columns)
	bands := make([]Band, 0, s.bands)
	names := x.StackNames(x.lazy.topStacks)
	for i, id := range x.lazy.topStacks {
		bands = append(bands, Band{Name: names[i], Stack: id})
	}
	return append(bands,
		Band{Name: "rest", Category: OtherCategory, Rest: true},
		Band{Name: HeldBefore, Category: OtherCategory, Held: true})
}
