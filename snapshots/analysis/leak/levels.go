package leak

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/quantity"
)

// # Memory of which only the level is known
//
// Of some memory nobody knows the allocations, only how much there is: the heap of a
// C library, a worker process. Its level is noise and jumps, besides a rise. So the
// levels are cut into eight parts, and the lowest of each is taken. A leak raises it
// from each part to the next, by much the same for each step. What was allocated once
// raises one part, and what fills a cache raises the later ones less.

const (
	levelParts = 8
	levelFew   = 2 * levelParts // levels that make a trend
	recentMost = 64             // levels that are looked at first: a leak may have begun lately
)

// OfLevels judges memory by its levels, ascending by step. A rise of less than least
// bytes in all is noise.
func OfLevels(levels []Level, least int64) Verdict {
	recent := levels[max(0, len(levels)-recentMost):]
	found := ofLevels(recent, least)
	if found.Trend != Suspected && len(levels) > len(recent) {
		found = ofLevels(levels, least)
	}
	return found
}

func ofLevels(levels []Level, least int64) Verdict {
	if len(levels) < levelFew {
		return Verdict{Reason: "Only " + quantity.Plural(len(levels), "level") + " seen so far."}
	}
	parts, steps := partsOf(levels[1+len(levels)/levelFew:]) // a program that begins takes much once
	v := Verdict{Trend: Steady, Steps: int(steps), Reason: "It does not rise over " + quantity.Plural(int(steps), "step") + "."}
	if steps < levelFew || parts.rise() < least {
		return v
	}
	v.GrowthPerStep = parts.slope()
	const half = levelParts / 2
	switch {
	case !parts.evenly():
		v.Trend, v.Reason = Growing, "It rose, too unevenly to tell it from a cache."
	case 10*parts[half:].perStep() < 6*parts[:half].perStep():
		v.Trend, v.Reason = Warming, fmt.Sprintf("It rose over %s, in the later ones less than in the earlier.", quantity.Plural(v.Steps, "step"))
	default:
		v.Trend = Suspected
		v.Reason = fmt.Sprintf("It rose from each eighth of the last %s to the next, by %s a step, and gives nothing back.",
			quantity.Plural(v.Steps, "step"), quantity.Bytes(v.GrowthPerStep))
	}
	return v
}

// RisePerStep returns by how many bytes the levels rise in a step, even or not, and
// over how many steps; 0 steps if there are too few levels to tell.
func RisePerStep(levels []Level) (bytes, steps int64) {
	if len(levels) < levelFew {
		return 0, 0
	}
	parts, steps := partsOf(levels)
	if steps < levelFew {
		return 0, 0
	}
	return parts.perStep(), steps
}

// SlopeSince returns by how many bytes a step the levels of most parts rise from a step
// on; there must be levelParts of them.
func SlopeSince(levels []Level, step int64) int64 {
	first := slices.IndexFunc(levels, func(l Level) bool { return l.Step >= step })
	parts, _ := partsOf(levels[first:])
	return parts.slope()
}

// lowest is the lowest levels of equally many levels each.
type lowest []Level

// partsOf cuts levels into parts, and returns how many steps all are.
func partsOf(levels []Level) (parts lowest, steps int64) {
	n := len(levels)
	for k := range levelParts {
		part := levels[k*n/levelParts : (k+1)*n/levelParts]
		parts = append(parts, slices.MinFunc(part, func(a, b Level) int { return cmp.Compare(a.Bytes, b.Bytes) }))
	}
	return parts, levels[n-1].Step - levels[0].Step
}

func (p lowest) rise() int64 { return p[len(p)-1].Bytes - p[0].Bytes }

func (p lowest) steps() int64 { return max(1, p[len(p)-1].Step-p[0].Step) }

func (p lowest) perStep() int64 { return p.rise() / p.steps() }

// slope returns by how much most parts rise in a step: the median over pairs of parts
// that are two or three apart. Nearer ones would show in what portions memory is taken;
// of these, what was taken once is in less than half.
func (p lowest) slope() int64 {
	var slopes []int64
	for _, apart := range []int{2, 3} {
		for k := apart; k < len(p); k++ {
			slopes = append(slopes, (p[k].Bytes-p[k-apart].Bytes)/max(1, p[k].Step-p[k-apart].Step))
		}
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}

// evenly reports whether every part but one at most is above the one before it by at
// least a quarter of what a steady rise would be, and none is much below.
func (p lowest) evenly() bool {
	short := 0
	for k := 1; k < len(p); k++ {
		by, steady := p[k].Bytes-p[k-1].Bytes, float64(p.rise())*float64(p[k].Step-p[k-1].Step)/float64(p.steps())
		if by < -p.rise()/16 {
			return false
		}
		if 4*float64(by) < steady {
			short++
		}
	}
	return short <= 1
}
