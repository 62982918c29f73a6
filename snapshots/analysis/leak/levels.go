package leak

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/quantity"
)

// # Memory of which only the level is known
//
// Of some memory nobody knows the allocations, only how much there is: the heap of a
// C library, a worker process. Its level is noise and jumps, besides a rise. So the
// steps are cut into eight equal parts, and the lowest level of each is taken. A leak
// raises it from each part to the next, by much the same. What was allocated once
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
	low, steps := lowest(levels)
	v := Verdict{Trend: Steady, Steps: int(steps), Reason: "It does not rise over " + quantity.Plural(int(steps), "step") + "."}
	const half = levelParts / 2
	rise, earlier, later := low[levelParts-1]-low[0], low[half-1]-low[0], low[levelParts-1]-low[half]
	if steps == 0 || rise < least {
		return v
	}
	v.GrowthPerStep = perStep(low, steps)
	if !evenly(low, rise) {
		v.Trend, v.Reason = Growing, "It rose, too unevenly to tell it from a cache."
		return v
	}
	if 10*later < 6*earlier {
		v.Trend, v.Reason = Warming, fmt.Sprintf("It rose over %s, in the later ones less than in the earlier.", quantity.Plural(v.Steps, "step"))
		return v
	}
	v.Trend = Suspected
	v.Reason = fmt.Sprintf("It rose from each eighth of the last %s to the next, by %s a step, and gives nothing back.",
		quantity.Plural(v.Steps, "step"), quantity.Bytes(v.GrowthPerStep))
	return v
}

// RisePerStep returns by how many bytes the levels rise in a step, even or not, and
// over how many steps; 0 steps if there are too few levels to tell.
func RisePerStep(levels []Level) (bytes, steps int64) {
	if len(levels) < levelFew {
		return 0, 0
	}
	low, steps := lowest(levels)
	if steps == 0 {
		return 0, 0
	}
	return perStep(low, steps), steps
}

// perStep divides the rise from the first part to the last, which are seven eighths
// of the steps apart.
func perStep(low [levelParts]int64, steps int64) int64 {
	return (low[levelParts-1] - low[0]) * levelParts / (levelParts - 1) / steps
}

// lowest returns the lowest level of each part, and how many steps all are; 0 steps if
// a part has no level, or there are few steps.
func lowest(levels []Level) (low [levelParts]int64, steps int64) {
	var seen [levelParts]bool
	first, last := levels[0].Step, levels[len(levels)-1].Step
	if last-first < levelFew {
		return low, 0
	}
	for _, l := range levels {
		k := (l.Step - first) * levelParts / (last - first + 1)
		if !seen[k] || l.Bytes < low[k] {
			low[k], seen[k] = l.Bytes, true
		}
	}
	for _, has := range seen {
		if !has {
			return low, 0
		}
	}
	return low, last - first
}

// evenly reports whether every part but one at most is above the one before it by at
// least a quarter of what a steady rise would be, and none is much below.
func evenly(low [levelParts]int64, rise int64) bool {
	short := 0
	for k := 1; k < levelParts; k++ {
		by := low[k] - low[k-1]
		if by < -rise/16 {
			return false
		}
		if by*4*(levelParts-1) < rise {
			short++
		}
	}
	return short <= 1
}
