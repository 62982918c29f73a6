package recompute

import (
	"cmp"
	"math"
	"slices"
)

// Choice is one way to run a block. All amounts are 0 or more.
type Choice struct {
	Kept int64 // bytes that stay from the block's run to its backward pass
	// Need is the highest level of bytes while the block works in either pass,
	// without what the blocks before it keep.
	Need int64
	Cost int64 // time
}

// Problem is a training step: its blocks and its limit.
type Problem struct {
	Blocks [][]Choice // the choices of each, at least one
	// End is the highest level while no block works, without the memory that they
	// keep.
	End   int64
	Limit int64 // of the level, at all times
}

// Solution is a choice for every block.
type Solution struct {
	Choices []int
	Cost    int64
	// Exact says that there is no cheaper solution; otherwise none is cheaper by
	// more than Tolerance.
	Exact bool
}

// Tolerance is the part by which a solution that is not exact may cost more
// than the cheapest.
const Tolerance = 0.01

// mostStates is how long a front may get before it is thinned.
const mostStates = 4096

// state is a choice for the blocks so far.
type state struct {
	kept, cost int64
	from       int // in the front before
	choice     int
}

// Solve returns the cheapest solution within the limit, false when there is none.
func Solve(p Problem) (Solution, bool) { return solve(p, mostStates) }

func solve(p Problem, most int) (Solution, bool) {
	room := p.rooms()
	fronts := [][]state{{{}}}
	exact := true
	for i, choices := range p.Blocks {
		var next []state
		for from, s := range fronts[i] {
			for k, c := range choices {
				if kept := s.kept + c.Kept; s.kept+c.Need <= p.Limit && kept <= room[i+1] {
					next = append(next, state{kept, s.cost + c.Cost, from, k})
				}
			}
		}
		next = front(next)
		if len(next) > most {
			next, exact = thin(next, len(p.Blocks)), false
		}
		fronts = append(fronts, next)
	}
	last := fronts[len(p.Blocks)]
	if len(last) == 0 || last[0].kept > room[len(p.Blocks)] {
		return Solution{}, false
	}
	at := len(last) - 1 // the cheapest keeps the most
	s := Solution{Choices: make([]int, len(p.Blocks)), Cost: last[at].cost, Exact: exact}
	for i := len(p.Blocks); i > 0; i-- {
		way := fronts[i][at]
		s.Choices[i-1], at = way.choice, way.from
	}
	return s, true
}

// rooms returns the most bytes that may be kept before each block, and after the
// last, so that some choice for the rest stays within the limit. It is negative
// if there is none.
func (p Problem) rooms() []int64 {
	room := make([]int64, len(p.Blocks)+1)
	room[len(p.Blocks)] = p.Limit - p.End
	for i := len(p.Blocks) - 1; i >= 0; i-- {
		room[i] = math.MinInt64
		for _, c := range p.Blocks[i] {
			room[i] = max(room[i], min(p.Limit-c.Need, room[i+1]-c.Kept))
		}
	}
	return room
}

// front keeps the states that no other state beats in both kept bytes and cost,
// in ascending order of kept bytes and descending order of cost.
func front(list []state) []state {
	slices.SortStableFunc(list, func(a, b state) int { return cmp.Or(cmp.Compare(a.kept, b.kept), cmp.Compare(a.cost, b.cost)) })
	kept := list[:0]
	for _, s := range list {
		if n := len(kept); n == 0 || s.cost < kept[n-1].cost {
			kept = append(kept, s)
		}
	}
	return slices.Clip(kept)
}

// thin keeps, of states whose costs differ by less than a factor, the one that
// keeps least. The factor is so small that after all blocks the costs are off by
// Tolerance at most.
func thin(list []state, blocks int) []state {
	factor := math.Log1p(Tolerance) / float64(blocks)
	class := func(s state) int {
		if s.cost == 0 {
			return -1
		}
		return int(math.Log(float64(s.cost)) / factor)
	}
	kept := list[:0]
	last := math.MinInt
	for _, s := range list { // descending cost, ascending bytes: the first of a class keeps least
		if c := class(s); c != last {
			kept, last = append(kept, s), c
		}
	}
	return kept
}

// Least returns the smallest limit that has a solution.
func Least(p Problem) int64 {
	low, high := int64(-1), p.End
	for _, choices := range p.Blocks {
		var kept, need int64
		for _, c := range choices {
			kept, need = max(kept, c.Kept), max(need, c.Need)
		}
		high += kept + need
	}
	for low+1 < high {
		p.Limit = low + (high-low)/2
		if p.rooms()[0] >= 0 {
			high = p.Limit
		} else {
			low = p.Limit
		}
	}
	return high
}
