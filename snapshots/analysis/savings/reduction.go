package savings

import "github.com/memtop/memtop/snapshots/trace"

// Reduction is what a change to the program takes away from its memory, at every
// moment of a trace: the same change takes it from every step.
type Reduction struct {
	Of     func(p *Part) int64 // bytes of each of a part's blocks that go, 0 for none
	Extent Extent
	Keep   int64              // bytes that stay of all that Of adds up to
	Layers func(p *Part) bool // knows what layers make, for [AfterLayer]
	Early  bool               // a pass ends within its last layer, for [BetweenPasses]
	Many   int                // layers that are alike in a pass, for [BetweenPasses]
	// Beside is like Of for blocks that were made while one was there of which Of takes
	// something. It may be nil.
	Beside func(p *Part) int64
}

// Extent says when a change takes a block away.
type Extent uint8

const (
	WholeLife     Extent = iota // for as long as it lives
	AfterStep                   // from the end of the step that made it
	UntilBackward               // from the beginning of each later step until backward makes it again
	AfterLayer                  // made since the last backward pass, from the end of the layer or step that made it, except results
	AfterNext                   // the same from when the next operation has its result, at the earliest
	BetweenPasses               // from the end of a layer's forward pass until backward needs it, except what the next layer is given
	BetweenUses                 // from when the next operations have read it until backward needs it
)

// Gone returns what is taken away where the blocks add up to some bytes.
func (r *Reduction) Gone(bytes int64) int64 { return max(0, bytes-r.Keep) }

// sum adds up what Of says at the scene's moment.
func (r *Reduction) sum(s *Scene) int64 {
	switch r.Extent {
	case BetweenPasses, AfterLayer, AfterNext, BetweenUses:
		return 0 // only the events tell
	}
	var bytes int64
	for i := range s.Parts {
		p := &s.Parts[i]
		count := p.Count
		if r.Extent == AfterStep || r.Extent == UntilBackward {
			count = p.Old
		}
		bytes += r.Of(p) * int64(count)
		if r.Beside != nil {
			bytes += r.Beside(p) * int64(count)
		}
	}
	return bytes
}

// alike returns a function that knows the scene's parts that fit and, at other
// moments, blocks of other sizes from the same stacks: the same operation on another
// batch.
func (s *Scene) alike(fits func(p *Part) bool) func(p *Part) bool {
	type origin struct {
		stack    trace.StackID
		category trace.Category
		size     int64 // 0 for any
	}
	fit := make(map[origin]bool)
	for i := range s.Parts {
		p := &s.Parts[i]
		here := origin{p.Stack, p.Category, p.Size}
		if fit[here] = fit[here] || fits(p); fit[here] && p.Stack > trace.EmptyStack {
			fit[origin{p.Stack, p.Category, 0}] = true
		}
	}
	return func(p *Part) bool {
		if fits, known := fit[origin{p.Stack, p.Category, p.Size}]; known {
			return fits
		}
		return fit[origin{p.Stack, p.Category, 0}]
	}
}

// all is a reduction of the whole of some parts.
func all(fits func(p *Part) bool) Reduction { return fraction(fits, 1, 1) }

// fraction is a reduction of a part of each block.
func fraction(fits func(p *Part) bool, part, of int64) Reduction {
	return Reduction{Of: func(p *Part) int64 {
		if fits(p) {
			return p.Size * part / of
		}
		return 0
	}}
}
