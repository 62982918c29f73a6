package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Growth is the memory of a stack that holds more after every step, as a leak
// does.
type Growth struct {
	Stack   trace.StackID
	PerStep int64 // bytes
	Bytes   int64 // held at the last moment compared
	Count   int   // of allocations, then
	Steps   int   // steps in which it grew, without a break
	// Marked says that the steps are the program's own. Otherwise the trace was
	// cut into equal parts, and the lowest moments of the parts are compared.
	Marked bool
	// Calls says that different calls of the model made what it holds.
	Calls bool
}

// Growth returns the stacks that hold more after every step, the fastest
// first.
func (x *Index) Growth() []Growth {
	return x.kept.growth.get(x, func([]Growth) []Growth {
		moments, marked := x.moments()
		least := int64(growthFloor)
		if marked {
			least = markedFloor
		}
		return x.growthBetween(moments, marked, least)
	})
}

// GrowthSteps is how many marked steps a measurement of growth needs.
const GrowthSteps = 5

const (
	growthMoments = 8 // how many steps are compared
	growthFew     = GrowthSteps - 1
	growthFloor   = 1 << 16 // less per part of a trace without steps is noise
	markedFloor   = 1 << 12 // less per step is
)

// StepGrowth returns the ends of the marked steps by which growth is measured,
// and the stacks that hold more at each end than at the end before, the fastest
// first. It returns no ends if too few steps are marked or have events.
func (x *Index) StepGrowth() (ends []int, grown []Growth) {
	ends, marked := x.moments()
	if !marked || len(ends) < growthFew {
		return nil, nil
	}
	return ends, x.growthBetween(ends, marked, 1)
}

// GrowthPerStep returns by how many bytes memory grows with each marked step: the
// sum of the growing stacks or, if that is more, the rise of the level itself in
// every step. It is not known if [Index.StepGrowth] has no ends.
func (x *Index) GrowthPerStep() (bytes int64, known bool) {
	ends, grown := x.StepGrowth()
	return x.PerStep(ends, grown), ends != nil
}

// PerStep is [Index.GrowthPerStep] for the results of StepGrowth.
func (x *Index) PerStep(ends []int, grown []Growth) int64 {
	sum := int64(0)
	for _, g := range grown {
		sum += g.PerStep
	}
	return max(sum, x.rise(ends))
}

// rise returns by how much the level rises from moment to moment, 0 if it does
// not rise every time.
func (x *Index) rise(moments []int) int64 {
	last := len(moments) - 1
	for m := range last {
		if x.RequestedAt(moments[m+1]) <= x.RequestedAt(moments[m]) {
			return 0
		}
	}
	if last < 1 {
		return 0
	}
	return (x.RequestedAt(moments[last]) - x.RequestedAt(moments[0])) / int64(last)
}

// growthBetween returns the stacks that hold more at every moment than at the
// moment before, by at least a number of bytes on average.
func (x *Index) growthBetween(moments []int, marked bool, least int64) []Growth {
	if len(moments) < growthFew {
		return nil
	}
	lines := make(sameLine)
	before := make([]holding, x.tables.StackCount())
	first := make([]holding, x.tables.StackCount())
	grew := make([]int, x.tables.StackCount())
	for m, at := range moments {
		now := make([]holding, x.tables.StackCount())
		for _, h := range x.holdingsAt(at) {
			if !marked && h.stack > trace.EmptyStack {
				h.stack = lines.of(x, h.stack)
			}
			now[h.stack].bytes += h.bytes
			now[h.stack].count += h.count
		}
		if m == 0 {
			copy(first, now)
		}
		for id := range now {
			if m > 0 && now[id].bytes > before[id].bytes && (now[id].count > before[id].count || !marked && now[id].count == before[id].count) {
				grew[id]++
			}
		}
		before = now
	}
	var found []Growth
	for id, n := range grew {
		stack := trace.StackID(id)
		perStep := (before[id].bytes - first[id].bytes) / int64(len(moments)-1)
		if n < len(moments)-1 || perStep < least || !marked && slices.Contains(builtUp, x.verdicts().Stack(stack)) {
			continue
		}
		calls := !marked && x.inCalls(stack, lines, moments)
		if marked || calls || x.swings(growthMoments) {
			found = append(found, Growth{stack, perStep, before[id].bytes, before[id].count, n, marked, calls})
		}
	}
	slices.SortFunc(found, func(a, b Growth) int { return cmp.Compare(b.PerStep, a.PerStep) })
	return found
}

// sameLine has by line the first stack that was asked for, which stands for all of them: a cache is made
// again by the same line, for whatever call of the model.
type sameLine map[trace.FrameID]trace.StackID

func (l sameLine) of(x *Index, stack trace.StackID) trace.StackID {
	line := x.Code().Line(stack)
	if l[line] == 0 {
		l[line] = stack
	}
	return l[line]
}

// builtUp are the categories of memory that programs are expected to build up.
var builtUp = []trace.Category{trace.Parameter, trace.Optimizer}

// moments returns the events after which memory should be the same again: the
// ends of the last steps. It leaves out the first step, which fills caches.
func (x *Index) moments() ([]int, bool) {
	steps := x.Steps()
	if len(steps) > growthFew {
		var at []int
		for _, s := range steps[max(1, len(steps)-growthMoments):] {
			if s.To > s.From {
				at = append(at, s.To-1)
			}
		}
		return at, true
	}
	n := x.events.Len()
	if len(steps) > 0 || n < 10*growthMoments {
		return nil, false
	}
	at := make([]int, growthMoments)
	for m := range at {
		at[m], _ = x.Lowest(x.End()*m/growthMoments, x.End()*(m+1)/growthMoments)
	}
	return at[:growthMoments-1], false // in the last part a program may give back what it kept
}

// swings reports whether the level goes up and down in each part by far more than it rises from part to
// part. If it does not, the program may be building up memory, and no part is like another.
func (x *Index) swings(parts int) bool {
	const swings, fewest = 4, 100
	var before, swing int64
	for m := range parts {
		from, to := x.End()*m/parts, x.End()*(m+1)/parts
		_, level := x.Lowest(from, to)
		if m > 0 && swings*(level-before) > swing {
			return false
		}
		_, high := x.Highest(from, to)
		before, swing = level, high-level
	}
	return x.events.Len() >= fewest*parts
}

// inCalls reports whether what a stack holds at each moment is newer than at the one before and of another
// call of the model: it is not what one call makes layer by layer.
func (x *Index) inCalls(stack trace.StackID, lines sameLine, moments []int) bool {
	before := -2
	for _, at := range moments {
		newest := -1
		for _, a := range x.alive(at) {
			if a.Open >= 0 && a.Stack > trace.EmptyStack && lines.of(x, a.Stack) == stack {
				newest = max(newest, x.verdicts().Call(a.Open))
			}
		}
		if newest <= before {
			return false
		}
		before = newest
	}
	return true
}
