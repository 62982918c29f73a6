package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/trace"
)

// A saving is the drop of the peak
//
// A change takes memory away at every moment of a trace, and another moment may
// then be the highest. So memtop takes away what the change takes away, and looks
// for the new peak. It adds up, by bucket of events, what is gone throughout the
// bucket. That bounds the new level, and only buckets whose bound is above the
// highest level found so far are replayed.

// reduction is one change, and what it takes away in a range of events.
type reduction struct {
	savings.Reduction
	before []int64 // by bucket, bytes that are gone at its start
	ending []int64 // of these, what ends in it
	// deltas are the events at which blocks go or come back that are not gone for as
	// long as they live, in order.
	deltas []delta
	until  int // the event that ends the last of the blocks that are taken, for what is made beside them
	beside int // the event that ends the last of those
	// remade is what backward makes again: gradients, or what layers keep.
	remade []trace.Allocation
	passes []int // the first of remade of each forward pass
	begun  []int // the event with which the backward pass after each of these begins
	last   int64 // bytes that the last event needs in addition
	// most is by bucket no less than what is needed in it in addition.
	most []int64
}

type delta struct {
	event int
	bytes int64 // that are gone from then on, negative for what comes back
}

// reductions computes several changes in one walk over the events [from, to).
type reductions struct {
	*Index
	scene    *savings.Scene
	parts    *parts
	from, to int
	first    int // bucket
	changes  []reduction
	bytes    [][]int64 // by part, what each change takes of each of its blocks; nil for nothing
	whole    bool      // what the changes take is gone for as long as it lives, so what comes and goes within a bucket is left to its replay
	added    additions // nil if no change is about gradients
}

// drops sets what each of the savings of a scene saves to the drop of the highest
// level of the events [from, to), where the last of them needs some bytes in addition.
func (x *Index) drops(scene *savings.Scene, found []savings.Saving, from, to int, last int64) {
	if len(found) == 0 || to <= from {
		return
	}
	r := &reductions{Index: x, scene: scene, parts: newParts(x), from: from, to: to, first: from >> bucketShift, whole: true}
	buckets := to>>bucketShift + 2 - r.first
	for i := range found {
		r.changes = append(r.changes, reduction{Reduction: found[i].Reduction, before: make([]int64, buckets), ending: make([]int64, buckets), most: make([]int64, buckets), passes: []int{0}})
		r.whole = r.whole && found[i].Reduction.Beside == nil
		switch found[i].Reduction.Extent {
		case savings.AfterStep, savings.BetweenPasses, savings.AfterLayer, savings.AfterNext, savings.BetweenUses:
			r.whole = false
		case savings.UntilBackward:
			r.whole, r.added = false, make(additions)
		}
	}
	r.walk()
	_, peak := x.Highest(from, to)
	peak = max(peak, x.RequestedAt(to-1)+last)
	if from == 0 {
		peak = max(peak, x.initial)
	}
	for k := range r.changes {
		r.changes[k].last = last
		found[k].Saved = max(0, peak-r.highest(k))
	}
}

// walk takes from every allocation what the changes take.
func (r *reductions) walk() {
	r.life.Alive(r.from-1, func(id trace.AllocationID) bool {
		r.take(id, r.first<<bucketShift-1)
		return true
	})
	for i, e := range r.events.Range(r.from, r.to) {
		if e.Kind == trace.Alloc && (!r.whole || r.life.Closed(i)>>bucketShift > i>>bucketShift) {
			r.take(trace.AllocationID(i), i)
		}
	}
	for k := range r.changes {
		c := &r.changes[k]
		r.dropGradients(c)
		r.recompute(c)
		r.moveToHost(c)
		r.dropGraph(c)
		slices.SortFunc(c.deltas, func(a, b delta) int { return cmp.Compare(a.event, b.event) })
		for b := 1; b < len(c.before); b++ {
			c.before[b] += c.before[b-1]
		}
	}
}

// take takes from an allocation, which counts from an event on, what the changes
// take.
func (r *reductions) take(id trace.AllocationID, from int) {
	a := r.life.Allocation(id)
	a.Note = r.life.NoteAt(id, r.End(), a.Note)
	to := min(a.Close, r.to)
	if r.added != nil {
		r.added.note(r, &a)
	}
	part := r.parts.of(&a)
	of, taken := r.parts.all[part].Category, r.of(part)
	if of == trace.BackwardTemporary || of == trace.Gradient {
		for k := range r.changes {
			c := &r.changes[k]
			c.endPass(a.Open)
			if c.Beside != nil && (taken == nil || taken[k] == 0) {
				r.piece(c, &a)
			}
		}
	}
	for k, bytes := range taken {
		switch c := &r.changes[k]; {
		case bytes == 0:
		case bytes < 0:
			if a.Open < max(c.until, c.beside) { // or made of what is
				c.beside = max(c.beside, to)
				r.cutBetween(c, from, to, -bytes)
			}
		case c.Extent == savings.WholeLife:
			if c.until = max(c.until, a.Close); of == trace.BackwardTemporary {
				c.beside = max(c.beside, to)
			}
			r.cut(c, from, to, bytes)
		case c.Extent == savings.AfterStep:
			if end := r.parts.stepEnd(a.Open); end >= 0 {
				r.cutBetween(c, max(end, from), to, bytes)
			}
		case c.Extent == savings.UntilBackward:
			c.remade = append(c.remade, a)
		case a.Open >= r.from:
			c.remade = append(c.remade, a)
		}
	}
}

// piece adds what backward makes once more beside what it makes of a loss, and keeps
// longer: where the loss comes in pieces, that of a piece is added to that of the others.
func (r *reductions) piece(c *reduction, a *trace.Allocation) {
	if a.Open < c.beside && a.Close > c.beside {
		r.add(c, a.Open, c.beside, a.Size)
	}
}

// of returns what each change takes of an allocation of a part, nil if that is nothing. It is
// negative where the change takes that only if the block was made beside another.
func (r *reductions) of(part int) []int64 {
	if part < len(r.bytes) {
		return r.bytes[part]
	}
	var bytes []int64
	for k := range r.changes {
		c := &r.changes[k]
		taken := c.Of(&r.parts.all[part])
		if taken == 0 && c.Beside != nil {
			taken = -c.Beside(&r.parts.all[part])
		}
		if taken != 0 && bytes == nil {
			bytes = make([]int64, len(r.changes))
		}
		if taken != 0 {
			bytes[k] = taken
		}
	}
	r.bytes = append(r.bytes, bytes)
	return bytes
}

// cutBetween takes a block's bytes away for a part of its life.
func (r *reductions) cutBetween(c *reduction, from, to int, bytes int64) {
	if from < to {
		c.deltas = append(c.deltas, delta{from, bytes}, delta{to, -bytes})
		r.cut(c, from, to, bytes)
	}
}

// cut takes bytes away after the events [from, to).
func (r *reductions) cut(c *reduction, from, to int, bytes int64) {
	first, last := from>>bucketShift+1-r.first, to>>bucketShift-r.first
	if first > last {
		return // it comes and goes within a bucket
	}
	c.before[first] += bytes
	c.before[last+1] -= bytes
	c.ending[last] += bytes
}

// highest returns the highest level with a change.
func (r *reductions) highest(k int) int64 {
	c := &r.changes[k]
	best := int64(0)
	if r.from == 0 {
		best = r.initial - c.Gone(c.before[0])
	}
	bound := func(b int) int64 {
		return r.initial + r.high.levels[0][r.first+b] - c.Gone(c.before[b]-c.ending[b]) + c.most[b]
	}
	buckets := (r.to-1)>>bucketShift + 1 - r.first
	likely := 0
	for b := range buckets {
		if bound(b) > bound(likely) {
			likely = b
		}
	}
	best = max(best, r.highestIn(k, likely), r.highestIn(k, buckets-1))
	for b := range buckets {
		if bound(b) > best {
			best = max(best, r.highestIn(k, b))
		}
	}
	return best
}

// highestIn returns the highest level in a bucket with a change.
func (r *reductions) highestIn(k, bucket int) int64 {
	c := &r.changes[k]
	from, to := max(r.from, (r.first+bucket)<<bucketShift), min(r.to, (r.first+bucket+1)<<bucketShift)
	gone, best := c.before[bucket], int64(0)
	next, _ := slices.BinarySearchFunc(c.deltas, from, func(t delta, event int) int { return cmp.Compare(t.event, event) })
	r.scan(from, to, func(i int, level int64) {
		for ; next < len(c.deltas) && c.deltas[next].event == i; next++ {
			gone += c.deltas[next].bytes
		}
		if leaves, joins := r.life.Change(i, r.events.At(i).Kind); leaves != joins {
			gone += r.taken(k, joins) - r.taken(k, leaves)
		}
		if level += r.initial - c.Gone(gone); i == r.to-1 {
			level += c.last
		}
		best = max(best, level)
	})
	return best
}

// taken returns what a change takes of an allocation for as long as it lives.
func (r *reductions) taken(k int, id trace.AllocationID) int64 {
	if id == trace.NoAllocation || r.changes[k].Extent != savings.WholeLife {
		return 0
	}
	a := r.life.Allocation(id)
	a.Note = r.life.NoteAt(id, r.End(), a.Note)
	if bytes := r.of(r.parts.of(&a)); bytes != nil {
		return max(0, bytes[k])
	}
	return 0
}
