package recompute

import (
	"math"
	"math/rand/v2"
	"testing"
)

// drawn makes a problem of some blocks with up to four choices.
func drawn(r *rand.Rand, blocks int, most int64) Problem {
	p := Problem{End: r.Int64N(most)}
	for range blocks {
		choices := make([]Choice, 1+r.IntN(4))
		for i := range choices {
			choices[i] = Choice{Kept: r.Int64N(most), Need: r.Int64N(2 * most), Cost: r.Int64N(most)}
		}
		p.Blocks = append(p.Blocks, choices)
	}
	return p
}

// level is the highest level of a choice for every block, and its cost.
func level(p Problem, choices []int) (level, cost int64) {
	var kept int64
	for i, k := range choices {
		c := p.Blocks[i][k]
		level, kept, cost = max(level, kept+c.Need), kept+c.Kept, cost+c.Cost
	}
	return max(level, kept+p.End), cost
}

// try calls f with every choice there is.
func try(p Problem, f func(level, cost int64)) {
	choices := make([]int, len(p.Blocks))
	for {
		f(level(p, choices))
		i := 0
		for ; i < len(choices); i++ {
			if choices[i]++; choices[i] < len(p.Blocks[i]) {
				break
			}
			choices[i] = 0
		}
		if i == len(choices) {
			return
		}
	}
}

// TestSolutionsAreTheCheapestThereAre compares with all choices of small steps.
func TestSolutionsAreTheCheapestThereAre(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	solved := 0
	for range 3000 {
		p := drawn(r, r.IntN(7), 1+r.Int64N(20))
		p.Limit = r.Int64N(60)
		want, least := int64(math.MaxInt64), int64(math.MaxInt64)
		try(p, func(level, cost int64) {
			least = min(least, level)
			if level <= p.Limit {
				want = min(want, cost)
			}
		})
		if got := Least(p); got != least {
			t.Fatalf("%+v: least limit %d, want %d", p, got, least)
		}
		s, ok := Solve(p)
		if ok != (least <= p.Limit) {
			t.Fatalf("%+v: solved %v, and the least limit is %d", p, ok, least)
		}
		if !ok {
			continue
		}
		solved++
		if high, cost := level(p, s.Choices); high > p.Limit || cost != s.Cost || cost != want || !s.Exact {
			t.Fatalf("%+v: %+v has level %d and cost %d, want at most %d and %d", p, s, high, cost, p.Limit, want)
		}
	}
	if solved < 1000 {
		t.Errorf("%d steps have a solution, want 1000", solved)
	}
}

// TestThinnedFrontsStayWithinTheTolerance solves larger steps with fronts that
// may get long, and with fronts that may not.
func TestThinnedFrontsStayWithinTheTolerance(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	thinned := 0
	for range 20 {
		p := drawn(r, 24, 1000)
		low := Least(p)
		p.Limit = low + r.Int64N(8000)
		want, _ := solve(p, math.MaxInt)
		got, ok := solve(p, 8)
		if high, cost := level(p, got.Choices); !ok || high > p.Limit || cost != got.Cost {
			t.Fatalf("level %d and cost %d, want at most %d and %d", high, cost, p.Limit, got.Cost)
		}
		if float64(got.Cost) > float64(want.Cost)*(1+Tolerance) {
			t.Errorf("cost %d, want at most 1 %% above %d", got.Cost, want.Cost)
		}
		if !got.Exact {
			thinned++
		}
	}
	if thinned == 0 {
		t.Error("no front was thinned")
	}
}

// TestManyDifferentBlocksAreSolvedAtOnce has every byte cost about the same, so
// that nearly every way past the blocks matters: without thinning they are
// 2^40.
func TestManyDifferentBlocksAreSolvedAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var p Problem
	for range 40 {
		kept := 1 + r.Int64N(1<<30)
		p.Blocks = append(p.Blocks, []Choice{{Kept: kept}, {Cost: kept + r.Int64N(1<<20)}})
		p.Limit += kept / 2
	}
	s, ok := Solve(p)
	if high, _ := level(p, s.Choices); !ok || s.Exact || high > p.Limit {
		t.Errorf("solved %v, exact %v, level %d within %d", ok, s.Exact, high, p.Limit)
	}
	// What is not kept costs at least as much.
	if least := p.Limit; float64(s.Cost) > float64(least)*1.02 {
		t.Errorf("cost %d, want about %d", s.Cost, least)
	}
}
