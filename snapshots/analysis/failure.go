package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Failure explains a request that ran out of memory: the stack and the size of
// the request, how much memory was missing, how much was free but of no use,
// which stacks held the rest, and which single changes would have made room. All
// sizes are bytes.
type Failure struct {
	OOM
	Need       int64 // the size of the segment asked of the driver: requests share segments
	Short      int64 // the part of Need that the driver did not have; −1 if not known
	Elsewhere  int64 // the part of Free that is for other streams or size classes
	Pins       []Pin // the blocks that keep mostly free segments, the cheapest first
	Categories [trace.CategoryCount]int64
	Lines      *lines.Table
	WouldFit   []Change // each of them alone, the smallest first
	Open       bool     // what the step needs after this request is not known

	refusedBy string // what refuses a request that the device has memory for
}

// Pin is a segment that could go back to the driver if a little memory in it were
// freed.
type Pin struct {
	Live    int64         // held in it
	Segment int64         // its size
	Stack   trace.StackID // of the largest block in it
}

// Change is one way to have made a failed request fit.
type Change struct {
	Text   string `json:"change"`
	Saving int64  `json:"saving_bytes"`
	Basis  Basis  `json:"basis"`
}

// String says what to do, how much that saves if it is known, and how memtop knows.
func (c Change) String() string {
	text := c.Text
	if c.Saving > 0 {
		text += ": " + quantity.Bytes(c.Saving)
	}
	return text + ", " + string(c.Basis)
}

// Basis says how a saving is known.
type Basis string

// The bases of savings.
const (
	Estimated Basis = "estimated" // by a model of what grows with what
	Counted   Basis = "counted"   // of memory in this trace
	Replayed  Basis = "replayed"  // by an allocator that was given the recorded requests
)

// FailureAt accounts for the request that failed at an event of kind OOM.
func FailureAt(x *Index, event int) *Failure {
	f := &Failure{OOM: x.oomAt(event), refusedBy: x.refusedBy()}
	m, held, stream := x.inferMap(event), newHeldFacts(x, event), x.events.At(event).Stream
	x.judgeBy(&f.OOM, m, held.holders)
	f.Need, f.Short = x.driverNeed(f.Requested), x.Short(&f.OOM)
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

// Short returns how many bytes the driver lacked for a failed request, −1 if that is
// not known.
func (r *record) Short(o *OOM) int64 {
	if o.DeviceFree < 0 {
		return -1
	}
	return max(0, r.driverNeed(o.Requested)-o.DeviceFree)
}

// driverNeed returns how much the allocator asks the driver for if no cached
// block serves a request: a segment or, with expandable segments, pages.
func (r *record) driverNeed(size int64) int64 {
	geometry := trace.NewGeometry(r.trace.Settings)
	return geometry.DriverRequest(size)
}

// pinsOf lists the mostly free segments, starting with those that need the least
// memory to be freed.
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
