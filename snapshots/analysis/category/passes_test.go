package category_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis/category"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestAnyNumberOfProcessorsJudgesTheSame judges a trace that is long enough to be shared. Each
// call of the model keeps four of sixteen allocations, from two places: were one counted in
// parts, it would look like four places, and no graph.
func TestAnyNumberOfProcessorsJudgesTheSame(t *testing.T) {
	const (
		turns   = 1200
		forward = "alloc 0x%d000 512 stack=%s\n"
		passing = "alloc 0x9000 256 stack=%[1]s\nfree_completed 0x9000 256 stack=%[1]s\n"
		step    = "alloc 0x7000 64 stack=sgdstep\nfree_completed 0x7000 64 stack=sgdstep\n"
	)
	var turn strings.Builder
	for k := range 4 {
		stack := []string{"forward", "second"}[k%2]
		fmt.Fprintf(&turn, forward, k+1, stack)
		turn.WriteString(strings.Repeat(fmt.Sprintf(passing, stack), 3))
	}
	turn.WriteString(step)
	for k := range 4 {
		fmt.Fprintf(&turn, "free_completed 0x%d000 512 stack=loop\n", k+1)
	}
	text := strings.Repeat(turn.String(), turns)
	verdicts := func(processors int) []trace.Category {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		j, _ := judged(t, names, text)
		var all []trace.Category
		for id := range trace.AllocationID(strings.Count(text, "\n")) {
			category, _ := j.Of(id, 0)
			all = append(all, category)
		}
		return all
	}
	alone := verdicts(1)
	seen := make(map[trace.Category]bool)
	for _, category := range alone {
		seen[category] = true
	}
	for _, want := range []trace.Category{trace.Activation, trace.Optimizer} {
		if !seen[want] {
			t.Errorf("nothing is %s", want)
		}
	}
	for _, processors := range []int{2, 3, 4} {
		for id, got := range verdicts(processors) {
			if got != alone[id] {
				t.Fatalf("with %d processors event %d makes %s, alone %s", processors, id, got, alone[id])
			}
		}
	}
}

func TestWhereTheFirstAllocationsHaveNoStackTheEngineIsKnownNevertheless(t *testing.T) {
	const many = 20_000
	j, _ := judged(t, pythonNames, strings.Repeat("alloc 0x9000 8 stack=empty\nfree_completed 0x9000 8 stack=empty\n", many)+"alloc 0x1000 512 stack=forward\n")
	wantCategory(t, j, 0, trace.BackwardTemporary)
}

// TestAParameterFromBeforeIsReplacedTwice is about one that the base has, whose successor is
// replaced from another place.
func TestAParameterFromBeforeIsReplacedTwice(t *testing.T) {
	tr := tracetest.Parse(t, names+`
device 0
alloc 0x2000 512 stack=ownstep
free_completed 0x1000 512 stack=ownstep
alloc 0x3000 64 stack=forward
alloc 0x4000 512 stack=factoredstep
free_completed 0x2000 512 stack=factoredstep
alloc 0x5000 64 stack=forward
segment 0x1000 512
block 0x1000 512 active_allocated requested=512 stack=weight
`)
	d := &tr.Devices[0]
	life := trace.NewLifetimes()
	life.Begin(&d.Final) // that of before the events, here
	life.Advance(d.Events)
	j := category.NewJudge()
	j.Advance(tr.Tables, d.Events, life)
	for _, id := range []trace.AllocationID{0, 3} {
		wantCategory(t, j, id, trace.Parameter)
	}
}
