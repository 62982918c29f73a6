package analysis

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/trace"
)

// dropGraph takes away what autograd keeps for a backward pass that does not come. Who
// reads what is not recorded. So it is not known when each block would go: at the latest
// when its layer or, of what is not of layers, its step has ended; at the earliest when
// the next operation has its result. The result of a step stays as long as it does or, at
// the least, until the next step has one: the graph of that may be what holds it.
func (r *reductions) dropGraph(c *reduction) {
	if c.Extent != savings.AfterLayer && c.Extent != savings.AfterNext || len(c.remade) == 0 {
		return
	}
	made := c.remade
	var before *trace.Allocation // the result of the step before
	for len(made) > 0 {
		step := made[:r.ofStep(made)]
		made = made[len(step):]
		result := resultOf(step)
		ends := r.layerEnds(c, step)
		if before != nil && c.Extent == savings.AfterNext {
			r.cutBetween(c, r.nextMade(step[result].Open), min(before.Close, r.to), before.Size)
		}
		before = &step[result]
		for i := range step {
			a := &step[i]
			if i == result {
				continue
			}
			from := r.nextMade(r.nextMade(a.Open))
			if c.Extent == savings.AfterLayer {
				from = ends[i]
			}
			r.cutBetween(c, from, min(a.Close, r.to), a.Size)
		}
	}
}

// ofStep returns how many of the blocks are of the same step as the first, all if steps
// are not known.
func (r *reductions) ofStep(made []trace.Allocation) int {
	end := r.parts.stepEnd(made[0].Open)
	n := slices.IndexFunc(made, func(a trace.Allocation) bool { return r.parts.stepEnd(a.Open) != end })
	if n < 0 {
		return len(made)
	}
	return n
}

// resultOf returns which of a step's blocks is its result: the last of more than a trifle.
func resultOf(step []trace.Allocation) int {
	var bytes int64
	for i := range step {
		bytes += step[i].Size
	}
	for i := range slices.Backward(step) {
		if step[i].Size >= bytes/trifle/trifle {
			return i
		}
	}
	return len(step) - 1
}

// layerEnds returns for each block of a step the event from when its layer does not need
// it: when the next layer begins, of which the first block has the same stack.
func (r *reductions) layerEnds(c *reduction, step []trace.Allocation) []int {
	end := r.nextMade(step[len(step)-1].Open)
	ends := make([]int, len(step))
	var begins trace.StackID
	var layer []int
	for i := range step {
		ends[i] = end
		a := &step[i]
		if c.Layers == nil || !c.Layers(&r.parts.all[r.parts.of(a)]) {
			continue
		}
		if begins == 0 {
			begins = a.Stack
		}
		if a.Stack == begins {
			for _, k := range layer {
				ends[k] = r.nextMade(a.Open)
			}
			layer = layer[:0]
		}
		layer = append(layer, i)
	}
	return ends
}
