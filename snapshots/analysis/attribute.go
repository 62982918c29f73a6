package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/memtop/memtop/snapshots/trace"
)

// # What a change did
//
// memtop compares the steps right before a change with the settled steps after
// it. It skips the first steps after a change, because in them the allocator
// takes the memory that the new setting needs, and the program makes new state.
// If another change comes before enough steps have settled, the difference cannot
// be attributed to one change. memtop measures such changes together, from before
// the first to after the last, and each names the others as overlapping. Steps
// whose gradients overflowed are left out.

const (
	settlingSteps = 2 // steps right after a change that are left out
	measuredSteps = 8 // steps compared on each side; the measurement is final when all have ended
	apartSteps    = 3 // settled steps between two changes that can be told apart
)

// group has changes, by step, whose joint effect can be told apart from that of
// all other changes.
type group struct {
	changes      []*Experiment
	since, until int64 // steps that may be compared: [since, until)
}

// groups finds the changes that must be measured together.
func groups(all []Experiment) []*group {
	var applied []*Experiment
	for i := range all {
		if e := &all[i]; e.State == trace.Applied && e.Step > 0 {
			applied = append(applied, e)
		}
	}
	slices.SortStableFunc(applied, func(a, b *Experiment) int { return cmp.Compare(a.Step, b.Step) })
	var found []*group
	for _, e := range applied {
		if n := len(found); n > 0 && e.Step < found[n-1].settled()+apartSteps {
			found[n-1].changes = append(found[n-1].changes, e)
			continue
		}
		// A program's own first steps settle as well.
		g := &group{changes: []*Experiment{e}, since: min(settlingSteps+1, e.Step-1), until: 1<<63 - 1}
		if n := len(found); n > 0 {
			g.since = found[n-1].settled()
			found[n-1].until = e.Step
		}
		found = append(found, g)
	}
	return found
}

// first returns the step that the first change takes effect in.
func (g *group) first() int64 { return g.changes[0].Step }

// settled returns the first step in which the last change has settled.
func (g *group) settled() int64 { return g.changes[len(g.changes)-1].Step + settlingSteps }

// measure compares the steps before and after the group's changes.
func (g *group) measure(steps []*trace.Step) {
	settled := len(window(steps, PeakAllocatedQuantity, g.settled(), g.until, 1))
	needed := measuredSteps
	if g.until <= lastStep(steps) { // no more will be looked at
		needed = settled
	}
	for _, e := range g.changes {
		e.Settled, e.Needed = settled, needed
		for q := range e.Effects {
			f := &e.Effects[q]
			if f.Quantity == ReservedQuantity && f.Foretold {
				f.measureWithin(stepOf(steps, e.Step))
				f.compare()
				continue
			}
			f.measure(window(steps, f.Quantity, g.since, g.first(), -1), window(steps, f.Quantity, g.settled(), g.until, 1))
			if len(g.changes) == 1 {
				f.compare()
			}
		}
		for _, o := range g.changes {
			if o != e {
				e.Overlaps = append(e.Overlaps, fmt.Sprintf("%s=%s at step %d", o.Key, o.To, o.Step))
			}
		}
	}
}

// stepOf returns the step with a number, nil if there is none.
func stepOf(steps []*trace.Step, number int64) *trace.Step {
	i := sort.Search(len(steps), func(i int) bool { return steps[i].Number >= number })
	if i == len(steps) || steps[i].Number != number {
		return nil
	}
	return steps[i]
}

// lastStep returns the number of the last step, 0 when there is none.
func lastStep(steps []*trace.Step) int64 {
	if len(steps) == 0 {
		return 0
	}
	return steps[len(steps)-1].Number
}

// window returns some of the steps numbered in [from, to) that have the quantity:
// the last ones if direction is −1, else the first ones.
func window(steps []*trace.Step, q Quantity, from, to, direction int64) []*trace.Step {
	at := func(number int64) int {
		return sort.Search(len(steps), func(i int) bool { return steps[i].Number >= number })
	}
	first, last := at(from), at(to)
	i, end := first, last
	if direction < 0 {
		i, end = last-1, first-1
	}
	var some []*trace.Step
	for ; i != end && len(some) < measuredSteps; i += int(direction) {
		if _, known := quantityOf(steps[i], q); known && !steps[i].Skipped {
			some = append(some, steps[i])
		}
	}
	return some
}
