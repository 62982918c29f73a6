package analysis

import (
	"math"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/trace"
)

// layer is one forward pass of a layer. Its blocks are in the order in which they
// were made.
type layer struct {
	blocks []trace.Allocation
	end    int // the event that makes something else: what the layer alone needed is gone
	begun  int // the event with which backward begins after it, the last one if it does not
	read   int // the event at which backward first frees one that only this layer reads
	done   int // the event at which it frees the last of them
}

// recompute takes away what layers keep from forward until backward, where each layer is
// computed again right before backward needs it: then all of it is there again, and
// beside it what the forward pass only needed for a while.
func (r *reductions) recompute(c *reduction) {
	if c.Extent != savings.BetweenPasses {
		return
	}
	ends := c.ends()
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
			r.add(c, to, to+1, more)
		}
	}
}

// ends returns the events that end what the reduction is about, in order.
func (c *reduction) ends() []int {
	ends := make([]int, len(c.remade))
	for i := range c.remade {
		ends[i] = c.remade[i].Close
	}
	slices.Sort(ends)
	return ends
}

// moveToHost takes away what waits in the host's memory for backward: from when two more operations have their results
// until what backward needs before is gone.
func (r *reductions) moveToHost(c *reduction) {
	if c.Extent != savings.BetweenUses {
		return
	}
	ends := c.ends()
	for k, from := range c.passes {
		to, begun := len(c.remade), r.to
		if k+1 < len(c.passes) {
			to, begun = c.passes[k+1], c.begun[k]
		}
		for i := from; i < to; i++ {
			a := &c.remade[i]
			back := begun
			if at, _ := slices.BinarySearch(ends, a.Close); at > 0 {
				back = max(back, ends[at-1])
			}
			if a.Close > begun {
				r.cutBetween(c, r.nextMade(r.nextMade(a.Open)), min(back, a.Close, r.to), a.Size)
			}
		}
	}
}

// add adds bytes after those of the events [from, to) that are in question.
func (r *reductions) add(c *reduction, from, to int, bytes int64) {
	if from, to = max(from, r.from), min(to, r.to); from >= to {
		return
	}
	c.deltas = append(c.deltas, delta{from, -bytes}, delta{to, bytes})
	first, last := from>>bucketShift-r.first, to>>bucketShift-r.first
	for b := first; b <= last; b++ {
		c.most[b] += bytes
	}
	if first < last {
		c.before[first+1] -= bytes
		c.before[last+1] += bytes
	}
}

// layersOf yields the layers that a change is about, without what each gives to the
// next: the last that it makes of more than a trifle.
func (r *reductions) layersOf(c *reduction) func(yield func(layer) bool) {
	last, each := r.lastOfLayer(c)
	return func(yield func(layer) bool) {
		for k, from := range c.passes {
			to, begun := len(c.remade), r.to
			if k+1 < len(c.passes) {
				to = c.passes[k+1]
			}
			if k < len(c.begun) {
				begun = c.begun[k]
			}
			made := 0
			for i := from; i < to; i++ {
				if c.remade[i].Stack != last || each > 1 && c.remade[i].Close <= begun {
					continue
				}
				if made++; made%each != 0 {
					continue
				}
				l := r.layerOf(c.remade[from : i+1])
				l.begun = begun
				if len(l.blocks) > 0 && !yield(l) {
					return
				}
				from = i + 1
			}
		}
	}
}

// lastOfLayer returns the stack of what a layer makes last, and how many blocks a layer keeps of that stack: of what the
// longest forward pass makes that a backward pass follows, the last. Without one, it is what a layer makes before the
// next begins again.
func (r *reductions) lastOfLayer(c *reduction) (last trace.StackID, each int) {
	var longest []trace.Allocation
	begun := 0
	for k := 1; k < len(c.passes); k++ {
		if pass := c.remade[c.passes[k-1]:c.passes[k]]; len(pass) > len(longest) {
			longest, begun = pass, c.begun[k-1]
		}
	}
	if len(longest) > 0 && !c.Early {
		last, kept := longest[len(longest)-1].Stack, 0
		for i := range longest {
			if longest[i].Stack == last && longest[i].Close > begun {
				kept++
			}
		}
		if c.Many > 0 && kept > 0 && kept%c.Many == 0 {
			return last, kept / c.Many
		}
		return last, 1
	}
	if !c.Early {
		longest = c.remade
	}
	for i := 1; i < len(longest); i++ {
		if longest[i].Stack == longest[0].Stack && (!c.Early || longest[i].Size == longest[0].Size) {
			return longest[i-1].Stack, 1
		}
	}
	return 0, 1
}

// layerOf returns a layer of what its forward pass makes.
func (r *reductions) layerOf(made []trace.Allocation) layer {
	l := layer{end: r.nextMade(made[len(made)-1].Open), read: r.to}
	var bytes int64
	for k := range made {
		if a := &made[k]; a.Close > l.end && a.Open >= 0 {
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
		l.read, l.done = min(l.read, l.blocks[k].Close), max(l.done, l.blocks[k].Close)
	}
	return l
}

// endPass notes that backward has begun, so that what comes is of another forward pass.
func (c *reduction) endPass(event int) {
	if c.passes[len(c.passes)-1] < len(c.remade) {
		c.passes, c.begun = append(c.passes, len(c.remade)), append(c.begun, event)
	}
}

// trifle is the part of a layer's bytes below which a block is no layer's result: the
// statistics of a norm.
const trifle = 256

// recomputed returns the event after which a layer is computed again: between when
// backward has freed the last block of the layers after it, and when it frees the first
// of this one's, the last moment at which it holds least. What it has made until then
// and leaves, as gradients of weights, does not count. The ends of all layers' blocks are
// in order.
func (r *reductions) recomputed(l *layer, ends []int) int {
	if l.read >= r.to {
		return r.to
	}
	from := l.end
	if l.begun < l.read {
		from = max(from, l.begun)
	}
	if k, _ := slices.BinarySearch(ends, l.read); k > 0 {
		from = max(from, ends[k-1])
	}
	at, least, left := from, int64(math.MaxInt64), int64(0)
	r.scan(from, l.read, func(i int, level int64) {
		if i > from && r.events.At(i).Kind == trace.Alloc && r.life.Closed(i) > l.done {
			left += r.events.At(i).Size
		}
		if level-left <= least {
			at, least = i, level-left
		}
	})
	return at
}

// nextMade returns the next event that allocates.
func (r *reductions) nextMade(event int) int {
	for event++; event < r.to && r.events.At(event).Kind != trace.Alloc; event++ {
	}
	return event
}
