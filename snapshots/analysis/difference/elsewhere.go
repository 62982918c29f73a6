package difference

import "memtop/snapshots/trace"

// spot is one size at one place.
type spot struct {
	place
	size int64
}

// findElsewhere takes what the other side allocates in the step of its moment, at the
// same place and of the same size or scaled by a factor that was found, and does not
// hold at that moment.
func (c *causes) findElsewhere() {
	for side := range c.d.Sides {
		elsewhere := c.d.elsewhere(1 - side)
		for _, p := range c.order {
			for _, size := range p.sizes(side) {
				for _, twin := range c.twinsOf(size, side) {
					at := spot{p.place, twin}
					n := min(len(p.left[side][size]), elsewhere[at])
					elsewhere[at] -= n
					c.note(causeKey{kind: OtherMoment}, p.place, side, p.take(side, size, n))
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
	places := make(map[trace.StackID]place)
	events, life := s.Index.Device().Events, s.Index.Lifetimes()
	for i := from; i < to; i++ {
		e := events.At(i)
		if e.Kind != trace.Alloc || i <= s.At && life.Closed(i) > s.At {
			continue
		}
		at, ok := places[e.Stack]
		if !ok {
			at = d.placeOf(d.Merged.stacks[side][e.Stack])
			places[e.Stack] = at
		}
		count[spot{at, e.Size}]++
	}
	return count
}
