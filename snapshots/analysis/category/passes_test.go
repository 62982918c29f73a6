package category_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestAnyNumberOfProcessorsJudgesTheSame judges a trace that is long enough to be shared,
// once alone: calls of the model are counted and rules given by whole spans.
func TestAnyNumberOfProcessorsJudgesTheSame(t *testing.T) {
	const (
		turns = 3000
		turn  = `alloc 0x1000 512 stack=forward
alloc 0x2000 512 stack=second
alloc 0x3000 256 stack=forward
free_completed 0x3000 256 stack=forward
alloc 0x4000 128 stack=sampled
free_completed 0x4000 128 stack=sampled
alloc 0x5000 512 stack=back
free_completed 0x1000 512 stack=back
free_completed 0x2000 512 stack=back
alloc 0x6000 64 stack=sgdstep
free_completed 0x6000 64 stack=sgdstep
free_completed 0x5000 512 stack=zeroing
`
	)
	text := strings.Repeat(turn, turns)
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
	for _, want := range []trace.Category{trace.Activation, trace.Inference, trace.Gradient, trace.Optimizer} {
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
