package difference

import (
	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/trace"
)

// spot is one size at one place.
type spot struct {
	place
	size       int64
	recomputed bool // in a part of the program that checkpointing runs again
}

// findElsewhere finds allocations that the other side also makes in the step of
// its moment but does not hold at that moment. It looks at the same place, for
// the same size or a size scaled by a factor that was found.
func (c *causes) findElsewhere() {
	for side := range c.d.Sides {
		elsewhere := c.d.elsewhere(1 - side)
		for _, p := range c.order {
			for _, size := range p.sizes(side) {
				for _, twin := range c.twinsOf(size, side) {
					for _, kind := range [...]CauseKind{Recomputed, OtherMoment} {
						at := spot{p.place, twin, kind == Recomputed}
						n := min(len(p.left[side][size]), elsewhere[at])
						elsewhere[at] -= n
						c.note(causeKey{kind: kind}, p.place, side, p.take(side, size, n))
					}
				}
			}
		}
	}
}

// twinsOf returns what sizes an allocation of a side may have on the other.
func (c *causes) twinsOf(size int64, side int) []int64 {
	sizes := []int64{size}
	for _, f := range c.factors {
		if side == 1 {
			f.Times, f.Over = f.Over, f.Times
		}
		if scaled, ok := f.of(size); ok {
			sizes = append(sizes, scaled)
		}
	}
	return sizes
}

// elsewhere counts what a side allocates within the step of its moment, or within the
// whole trace where that is not in a step, and does not hold then.
func (d *Difference) elsewhere(side int) map[spot]int {
	s := d.Sides[side]
	from, to := 0, s.Index.End()+1
	if p := newPhases(s); p.now >= 0 {
		from, to = p.steps[p.now].From, p.steps[p.now].To
	}
	count := make(map[spot]int)
	checkpoints := d.traits[side]&^d.traits[1-side]&traits.Checkpoints != 0
	events, life := s.Index.Device().Events, s.Index.Lifetimes()
	for i := from; i < to; i++ {
		e := events.At(i)
		if e.Kind != trace.Alloc || i <= s.At && life.Closed(i) > s.At {
			continue
		}
		stack := max(d.Merged.stacks[side][e.Stack], trace.EmptyStack)
		count[spot{
			place: d.Merged.placeOf(stack, d.Merged.notes[side][e.Note]), size: e.Size,
			recomputed: checkpoints && d.Merged.traits[stack]&traits.Checkpoints != 0,
		}]++
	}
	return count
}
