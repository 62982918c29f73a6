package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
)

// TestThePeakIsInTheStepThatHoldsIt has three steps, of which the second needs 96 MiB,
// and an evaluation after them that needs more or less.
func TestThePeakIsInTheStepThatHoldsIt(t *testing.T) {
	const use = "alloc 0x10000000 %[1]d @%[2]d stack=act\nfree_completed 0x10000000 %[1]d @%[3]d\n"
	for evaluation, want := range map[int]int{32: 2, 128: 0} {
		text := tracetest.Steps(3, func(s int) string {
			return fmt.Sprintf(use+"alloc 0x100 512 @%[4]d stack=opt\nfree_completed 0x100 512 @%[5]d\n",
				(64+32*(s%2))<<20, s*1000+100, s*1000+200, s*1000+910, s*1000+920)
		})
		tr := tracetest.Parse(t, text+fmt.Sprintf(use, evaluation<<20, 3100, 3200))
		steps := stepsOf(analysis.NewIndex(tr, &tr.Devices[0]))
		var drawn strings.Builder
		p := newPage(&drawn, 200)
		steps.text(p)
		_ = p.w.Flush()
		if steps.PeakStep != want || strings.Contains(drawn.String(), "in no step") != (want == 0) {
			t.Errorf("evaluation of %d MiB: the peak is in step %d, want %d:\n%s", evaluation, steps.PeakStep, want, drawn.String())
		}
	}
}
