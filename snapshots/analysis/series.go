package analysis

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/category"
	"github.com/memtop/memtop/snapshots/trace"
)

// series is the requested level split into bands, one for each category and one for
// memory from before recording of unknown use. It is kept at every 64th event like the
// levels themselves.
type series struct {
	judge   *category.Judge
	initial []int64
	sums    []int64 // relative sums before event k·64, bands at a time
	now     []int64 // relative sums after the events read
	n       int     // events read
	heldN   int     // held ones that initial is of
	judged  int     // the judge's generation that bands are of
}

// heldBand is the band of memory from before recording of unknown use, and bands is how
// many there are.
const (
	heldBand = trace.CategoryCount
	bands    = heldBand + 1
)

func (x *Index) newSeries(j *category.Judge) *series {
	s := &series{judge: j, initial: make([]int64, bands), now: make([]int64, bands), judged: j.Generation()}
	s.heldN = len(x.life.Held)
	for k := range x.life.Held {
		s.initial[s.band(trace.HeldID(k), x.life.Held[k].Note)] += x.life.Held[k].Size
	}
	s.sums = make([]int64, 0, (x.events.Len()>>bucketShift+1)*bands)
	s.advance(x)
	return s
}

// band returns the band of an allocation with a note.
func (s *series) band(id trace.AllocationID, note trace.NoteID) int {
	c, rule := s.judge.Of(id, note)
	if _, held := id.Held(); held && rule.Unplaced() {
		return heldBand
	}
	return c.Place()
}

// advance reads the events that came since.
func (s *series) advance(x *Index) {
	if s.n == 0 && len(s.sums) == 0 {
		s.sums = append(s.sums, s.now...)
	}
	for i, e := range x.events.Range(s.n, x.events.Len()) {
		s.step(x, s.now, i, e)
		if (i+1)&(bucketSize-1) == 0 {
			s.sums = append(s.sums, s.now...)
		}
	}
	s.n = x.events.Len()
}

// step applies event i to the sums.
func (s *series) step(x *Index, now []int64, i int, e *trace.Event) {
	leaves, joins := x.life.Change(i, e.Kind)
	if leaves != trace.NoAllocation {
		s.move(x, now, leaves, i-1, -1)
	}
	switch {
	case joins == trace.NoAllocation:
	case joins == trace.AllocationID(i): // e made it: no lookup, which costs a fifth of the walk
		now[s.band(joins, e.Note)] += e.Size
	default:
		s.move(x, now, joins, i, 1)
	}
}

// move adds an allocation's bytes, times sign, to the band that it was in right
// after an event.
func (s *series) move(x *Index, now []int64, id trace.AllocationID, at int, sign int64) {
	var size int64
	var note trace.NoteID
	if k, held := id.Held(); held {
		size, note = x.life.Held[k].Size, x.life.Held[k].Note
	} else {
		e := x.events.At(int(id))
		size, note = e.Size, e.Note
	}
	now[s.band(id, x.life.NoteAt(id, at, note))] += sign * size
}

// at returns the bands right after an event.
func (s *series) at(x *Index, event int) []int64 {
	k := (event + 1) >> bucketShift
	now := slices.Clone(s.sums[k*bands : (k+1)*bands])
	for i := k << bucketShift; i <= event; i++ {
		s.step(x, now, i, x.events.At(i))
	}
	for band, bytes := range s.initial {
		now[band] += bytes
	}
	return now
}

// CategoryPeaks returns the most bytes that each band of a timeline by category
// ever has, in the order of the bands. A band with 0 bytes is never visible.
func (x *Index) CategoryPeaks() []int64 {
	s := x.categorySeries()
	now := slices.Clone(s.initial)
	peaks := slices.Clone(now)
	for i := range x.events.Len() {
		s.step(x, now, i, x.events.At(i))
		for band, bytes := range now {
			peaks[band] = max(peaks[band], bytes)
		}
	}
	return peaks
}

func (x *Index) categorySeries() *series {
	j := x.verdicts()
	return x.kept.byCategory.get(x, func(s *series) *series {
		if s == nil || s.heldN != len(x.life.Held) || s.judged != j.Generation() {
			return x.newSeries(j)
		}
		s.advance(x)
		return s
	})
}
