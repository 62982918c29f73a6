package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/trace"
)

// layer is one forward pass of a layer. Its blocks are in the order in which they
// were made.
type layer struct {
	blocks []trace.Allocation
	end    int // the event that makes something else: what the layer alone needed is gone
	read   int // the event at which backward first frees one that only this layer reads
}

// again takes away what layers keep from forward until backward, where each layer is
// computed again right before backward needs it: then all of it is there again, and
// beside it what the forward pass only needed for a while.
func (r *reliefs) again(c *relief) {
	if c.Extent != savings.Again {
		return
	}
	slices.SortFunc(c.grown, func(a, b trace.Allocation) int { return cmp.Compare(a.Open, b.Open) })
	ends := make([]int, len(c.grown))
	for i := range c.grown {
		ends[i] = c.grown[i].Close
	}
	slices.Sort(ends)
	for l := range r.layersOf(c) {
		to := r.recomputed(&l, ends)
		var bytes int64
		for i := range l.blocks {
			r.cutBetween(c, max(l.end, r.from), to, l.blocks[i].Size)
			bytes += l.blocks[i].Size
		}
		if to >= r.to {
			continue
		}
		first, last := l.blocks[0].Open, l.blocks[len(l.blocks)-1].Open
		_, level := r.Highest(first, last+1)
		if more := level - r.RequestedAt(first-1) - bytes; more > 0 {
			r.add(c, to, more)
		}
	}
}

// add adds bytes after one event.
func (r *reliefs) add(c *relief, event int, bytes int64) {
	c.turns = append(c.turns, turn{event, -bytes}, turn{event + 1, bytes})
	bucket := event>>bucketShift - r.first
	c.most[bucket] += bytes
	if next := (event+1)>>bucketShift - r.first; next != bucket {
		c.before[next] -= bytes
		c.before[next+1] += bytes
	}
}

// layersOf yields the layers that a change is about, without what each gives to the
// next: the last that it makes of more than a trifle.
func (r *reliefs) layersOf(c *relief) func(yield func(layer) bool) {
	begins := func(a *trace.Allocation) bool { return c.Begins(&r.parts.all[r.parts.of(a)]) && !r.passes(a) }
	return func(yield func(layer) bool) {
		for i := 0; i < len(c.grown); {
			from := i
			for i++; i < len(c.grown) && !begins(&c.grown[i]); i++ {
			}
			if !begins(&c.grown[from]) || c.grown[from].Open < 0 {
				continue
			}
			l := layer{end: r.nextMade(c.grown[i-1].Open), read: r.to}
			var bytes int64
			for k := range c.grown[from:i] {
				if a := &c.grown[from+k]; a.Close > l.end {
					l.blocks, bytes = append(l.blocks, *a), bytes+a.Size
				}
			}
			for k := range slices.Backward(l.blocks) {
				if l.blocks[k].Size >= bytes/trifle {
					l.blocks = slices.Delete(l.blocks, k, k+1)
					break
				}
			}
			for k := range l.blocks {
				l.read = min(l.read, l.blocks[k].Close)
			}
			if len(l.blocks) > 0 && !yield(l) {
				return
			}
		}
	}
}

// soon is how many allocations after its own something is gone that only the next
// operations read, and not backward.
const soon = 4

// passes reports whether a block is gone soon after it was made.
func (r *reliefs) passes(a *trace.Allocation) bool {
	at := a.Open
	for range soon {
		if at = r.nextMade(at); a.Close < at {
			return true
		}
	}
	return false
}

// trifle is the part of a layer's bytes below which a block is no layer's result: the
// statistics of a norm.
const trifle = 256

// recomputed returns the event after which a layer is computed again: the lowest
// moment from when backward is done with the layer after it, whose last block it frees
// then, until it frees the first of this layer's. The ends of all layers' blocks are
// in order.
func (r *reliefs) recomputed(l *layer, ends []int) int {
	if l.read >= r.to {
		return r.to
	}
	from := l.end
	if k, _ := slices.BinarySearch(ends, l.read); k > 0 && ends[k-1] >= l.end {
		from = ends[k-1]
	}
	at, _ := r.Lowest(from, l.read)
	return at
}

// nextMade returns the next event that allocates.
func (r *reliefs) nextMade(event int) int {
	for event++; event < r.to && r.events.At(event).Kind != trace.Alloc; event++ {
	}
	return event
}
