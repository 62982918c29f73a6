package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// stackBands gives a band to each of the stacks with the highest peaks. It looks
// at the whole trace, so that a band keeps its place while the user zooms.
type stackBands struct {
	peaks  stackPeaks
	top    []trace.StackID
	band   []uint8 // by stack
	series *series
}

func (x *Index) stackBands() *stackBands {
	return x.kept.byStack.get(x, func(b *stackBands) *stackBands {
		if b == nil || b.peaks.heldN != len(x.life.Held) {
			b = new(stackBands)
		}
		b.peaks.advance(x)
		top := b.peaks.top(bandCount)
		if b.series == nil || !slices.Equal(top, b.top) {
			b.top, b.band, b.series = top, nil, nil
		}
		b.addBands(x.tables.StackCount())
		if b.series == nil {
			b.series = x.newSeries(len(top)+2,
				func(_ int, e *trace.Event, _ trace.NoteID) int { return int(b.band[max(e.Stack, trace.EmptyStack)]) },
				func(k int, _ trace.NoteID) int { return x.heldStackBand(k, b.band, len(top)+1) })
			return b
		}
		b.series.advance(x)
		return b
	})
}

// addBands gives bands to the stacks that have none yet.
func (b *stackBands) addBands(stacks int) {
	for id := len(b.band); id < stacks; id++ {
		band := slices.Index(b.top, trace.StackID(id))
		if band < 0 {
			band = len(b.top)
		}
		b.band = append(b.band, uint8(band))
	}
}

// heldStackBand returns the band of a held allocation. If its stack is unknown,
// it has a band apart.
func (x *Index) heldStackBand(k int, band []uint8, unknown int) int {
	h := &x.life.Held[k]
	if h.FreeStack || h.Stack <= trace.EmptyStack {
		return unknown
	}
	return int(band[h.Stack])
}

// stackPeaks knows, for each stack, the most bytes that it ever held at once. An
// absent stack counts as the empty stack.
type stackPeaks struct {
	walk  series // without sums
	now   []int64
	peaks []int64
	n     int // events read
	heldN int // held ones that were there when it began
}

// advance reads the events that came since.
func (p *stackPeaks) advance(x *Index) {
	for id := len(p.now); id < x.tables.StackCount(); id++ {
		p.now, p.peaks = append(p.now, 0), append(p.peaks, 0)
	}
	if p.walk.band == nil {
		p.begin(x)
	}
	for p.n < x.events.Len() {
		span := x.events.Span(p.n)
		for j := range span {
			e := &span[j]
			p.walk.step(x, p.now, p.n+j, e)
			if e.Kind == trace.Alloc {
				slot := max(e.Stack, trace.EmptyStack)
				p.peaks[slot] = max(p.peaks[slot], p.now[slot])
			}
		}
		p.n += len(span)
	}
}

func (p *stackPeaks) begin(x *Index) {
	p.heldN = len(x.life.Held)
	p.walk.band = func(_ int, e *trace.Event, _ trace.NoteID) int { return int(max(e.Stack, trace.EmptyStack)) }
	p.walk.held = func(k int, _ trace.NoteID) int { return x.heldStackSlot(k) }
	for k := range x.life.Held {
		p.now[x.heldStackSlot(k)] += x.life.Held[k].Size
	}
	p.now[0] = 0
	copy(p.peaks, p.now)
}

// top returns the n stacks with the highest level of their own.
func (p *stackPeaks) top(n int) []trace.StackID {
	ids := make([]trace.StackID, 0, len(p.peaks))
	for id, bytes := range p.peaks {
		if bytes > 0 && id > 0 {
			ids = append(ids, trace.StackID(id))
		}
	}
	slices.SortStableFunc(ids, func(a, b trace.StackID) int { return cmp.Compare(p.peaks[b], p.peaks[a]) })
	return slices.Clone(ids[:min(n, len(ids))])
}

// heldStackSlot returns the slot of a held allocation's stack. It is 0 if the
// stack is unknown; no allocation of the trace uses slot 0.
func (x *Index) heldStackSlot(k int) int {
	h := &x.life.Held[k]
	if h.FreeStack || h.Stack <= trace.EmptyStack {
		return 0
	}
	return int(h.Stack)
}

func (x *Index) fillStacks(columns []Column) []Band {
	b := x.stackBands()
	x.fillSeries(b.series, columns)
	bands := make([]Band, 0, b.series.bands)
	names := x.StackNames(b.top)
	for i, id := range b.top {
		bands = append(bands, Band{Name: names[i], Stack: id})
	}
	return append(bands,
		Band{Name: "rest", Category: trace.OtherCategory, Rest: true},
		Band{Name: HeldBefore, Category: trace.OtherCategory, Held: true})
}
