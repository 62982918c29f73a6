package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// Failure is an account of a request that ran out of memory: who asked for what,
// how much was missing, what was free and of no use, who held the rest, and what
// alone would have made room. All sizes are bytes.
type Failure struct {
	OOM
	Need       int64 // that the driver was asked for: requests share segments
	Short      int64 // of Need, what the driver did not have; −1 when it is not known
	Elsewhere  int64 // of Free, for other streams or size classes
	Pins       []Pin // what keeps segments that are mostly free, the cheapest first
	Categories [trace.CategoryCount]int64
	Lines      *lines.Table
	WouldFit   []Change // each of them alone, the smallest first
}

// Pin is a segment that would go back to the driver, were it not for a little
// memory in it.
type Pin struct {
	Live    int64         // held in it
	Segment int64         // its size
	Stack   trace.StackID // of the largest block in it
}

// Change is something that would have made a request fit.
type Change struct {
	Text   string
	Saving int64 // bytes that it gives
	Basis  Basis
}

// Basis says how a saving is known.
type Basis uint8

// The bases of savings.
const (
	Estimated Basis = iota // by a model of what grows with what
	Counted                // of memory in this trace
	Replayed               // by an allocator that was given the recorded requests
)

// String returns the basis in a word.
func (b Basis) String() string { return [...]string{"estimated", "counted", "replayed"}[b] }

// FailureAt accounts for the request that failed at an event of kind OOM.
func FailureAt(x *Index, event int) *Failure {
	f := &Failure{OOM: x.oomAt(event)}
	m, held, stream := x.inferMap(event), newHeldFacts(x, event), x.events.At(event).Stream
	x.judgeBy(&f.OOM, m, held.holders)
	f.Need, f.Short = x.driverNeed(f.Requested), -1
	if f.DeviceFree >= 0 {
		f.Short = max(0, f.Need-f.DeviceFree)
	}
	for i := range m.Fits {
		if !m.Fits[i].serves(f.Requested, stream) {
			f.Elsewhere += m.Fits[i].Free
		}
	}
	f.Pins = pinsOf(m)
	f.Categories = held.categories
	f.Lines = LinesOf(x, held.holders, lines.Line, false)
	f.findChanges(x, held.scene)
	return f
}

// driverNeed returns what the allocator asks the driver for when no cached block
// serves a request: a segment, of expandable ones the pages.
func (r *record) driverNeed(size int64) int64 {
	switch rules := trace.NewRounding(r.trace.Settings); {
	case rules.Uncached:
		return size
	case !rules.Expandable:
		return segmentFor(size)
	}
	page := int64(20 << 20)
	if size <= trace.SmallLimit {
		page = trace.SmallSegment
	}
	return (size + page - 1) / page * page
}

// pinsOf lists the segments that are mostly free, those first that cost the least
// to get back.
func pinsOf(m *Map) []Pin {
	var pins []Pin
	for i := range m.Segments {
		s := &m.Segments[i]
		if s.Pin == nil {
			continue
		}
		largest := s.Pin
		for b := range s.Blocks {
			if s.Blocks[b].State.Live() && s.Blocks[b].Size > largest.Size {
				largest = &s.Blocks[b]
			}
		}
		pins = append(pins, Pin{s.Live, s.Size, largest.Stack})
	}
	slices.SortStableFunc(pins, func(a, b Pin) int {
		return cmp.Or(cmp.Compare(a.Live, b.Live), cmp.Compare(b.Segment, a.Segment))
	})
	return pins
}
