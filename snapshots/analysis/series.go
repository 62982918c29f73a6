package analysis

import (
	"sync"

	"memtop/snapshots/trace"
)

// series is the requested level split into bands, kept at every 64th event
// like the levels themselves.
type series struct {
	bands   int
	alloc   func(e *trace.Event) int // band of an allocation made within the trace
	held    func(k int) int          // band of one from before
	initial []int64
	sums    []int64 // relative sums before event k·64, bands at a time
}

// onceSeries computes a series when it is first asked for.
type onceSeries struct {
	once   sync.Once
	series *series
}

func (x *Index) newSeries(bands int, alloc func(e *trace.Event) int, held func(k int) int) *series {
	s := &series{bands: bands, alloc: alloc, held: held, initial: make([]int64, bands)}
	for k := range x.life.Held {
		s.initial[held(k)] += x.life.Held[k].Size
	}
	now := make([]int64, bands)
	s.sums = make([]int64, 0, (x.events.Len()>>bucketShift+1)*bands)
	for i := 0; i < x.events.Len(); {
		span := x.events.Span(i)
		for j := range span {
			if (i+j)&(bucketSize-1) == 0 {
				s.sums = append(s.sums, now...)
			}
			s.step(x, now, i+j, &span[j])
		}
		i += len(span)
	}
	if x.events.Len()&(bucketSize-1) == 0 {
		s.sums = append(s.sums, now...)
	}
	return s
}

// step applies event i to the sums.
func (s *series) step(x *Index, now []int64, i int, e *trace.Event) {
	switch {
	case e.Kind == trace.Alloc:
		now[s.alloc(e)] += e.Size
		if x.displaced != nil {
			if id, ok := x.displaced[int32(i)]; ok {
				s.move(x, now, id, i-1, -1)
			}
		}
	case e.Kind.Closes():
		s.move(x, now, x.life.Ended(i), i-1, -1)
	case e.Kind == trace.Retag:
		if id, ok := x.life.Retagged(i); ok {
			s.move(x, now, id, i-1, -1)
			s.move(x, now, id, i, 1)
		}
	}
}

// move adds an allocation's bytes, times sign, to the band that it was in right
// after an event.
func (s *series) move(x *Index, now []int64, id trace.AllocationID, at int, sign int64) {
	if k, held := id.Held(); held {
		now[s.held(k)] += sign * x.life.Held[k].Size
		return
	}
	e := *x.events.At(int(id))
	e.Note = x.life.NoteAt(id, at)
	now[s.alloc(&e)] += sign * e.Size
}

// at returns the bands right after an event.
func (s *series) at(x *Index, event int) []int64 {
	k := (event + 1) >> bucketShift
	now := make([]int64, s.bands)
	copy(now, s.sums[k*s.bands:(k+1)*s.bands])
	for i := k << bucketShift; i <= event; i++ {
		s.step(x, now, i, x.events.At(i))
	}
	for band, bytes := range s.initial {
		now[band] += bytes
	}
	return now
}

// heldBand is the category series' band of memory from before recording whose
// use nobody knows.
const heldBand = CategoryCount

func (x *Index) categorySeries() *series {
	lazy := &x.lazy.byCategory
	lazy.once.Do(func() {
		c := x.classifier()
		lazy.series = x.newSeries(CategoryCount+1,
			func(e *trace.Event) int { return int(c.of(e.Stack, e.Note).category) }, x.heldCategory)
	})
	return lazy.series
}

func (x *Index) heldCategory(k int) int {
	h := &x.life.Held[k]
	v := x.verdict(h.Stack, h.Note, h.FreeStack)
	if v.rule == ruleHeld || v.rule == ruleNoStack {
		return heldBand
	}
	return int(v.category)
}
