package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis/iteration"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestStepsOfRealFilesAreInferredAsTheyAreMarked(t *testing.T) {
	compared := 0
	onfile.Shared(t, func(t *testing.T, _ string, tr *trace.Trace) {
		t.Helper()
		marked := NewIndex(tr, &tr.Devices[0])
		if len(marked.Steps()) == 0 || marked.StepsInferred() != iteration.None {
			return
		}
		bare := *tr
		bare.Annotations = nil
		x := NewIndex(&bare, &bare.Devices[0])
		if x.StepsInferred() != iteration.Optimizer || len(x.Steps()) != len(marked.Steps()) {
			t.Fatalf("got %d from %s, want %d from optimizer steps", len(x.Steps()), x.StepsInferred(), len(marked.Steps()))
		}
		for i, s := range marked.Steps() {
			got := x.Steps()[i]
			_, want := x.Highest(s.From, s.To)
			if _, peak := x.Highest(got.From, got.To); peak != want || abs(got.To-s.To) > 4 {
				t.Errorf("step %d: got the events [%d, %d), peak %d; marked are [%d, %d), peak %d", i, got.From, got.To, peak, s.From, s.To, want)
			}
		}
		compared++
	})
	if compared < 3 {
		t.Errorf("only %d files mark their steps", compared)
	}
}

func abs(n int) int { return max(n, -n) }

func TestGrowthIsJudgedByInferredSteps(t *testing.T) {
	var text strings.Builder
	text.WriteString(tracetest.Frames + "stack step malloc adam wrap user\n" + "frame other \"/home/me/train.py\" 60 \"main\"\nstack leak malloc other\ndevice 0\n")
	for i := range 8 {
		fmt.Fprintf(&text, "alloc 0x%x00000 1048576 stack=leak\n", 0x1000+i*16)
		text.WriteString("alloc 0x1000 4096 stack=act\nalloc 0x9000 512 stack=grad\nalloc 0x8000 512 stack=step\n" +
			"free_requested 0x8000 512\nfree_completed 0x8000 512\nfree_requested 0x9000 512\nfree_completed 0x9000 512\n" +
			"free_requested 0x1000 4096\nfree_completed 0x1000 4096\n")
	}
	x := indexOf(t, text.String())
	growth := x.Growth()
	if len(x.Steps()) != 8 || len(growth) != 1 || growth[0].PerStep != 1<<20 || !growth[0].Marked || x.StepsInferred() != iteration.Optimizer {
		t.Fatalf("%d steps from %s, growth %+v", len(x.Steps()), x.StepsInferred(), growth)
	}
	var found bool
	for _, f := range x.Findings() {
		if f.Kind == GrowthFinding {
			found = true
			if want := "Memory from train.py:60 main grows by 1.0 MiB per step, in each of the last 6 steps (inferred from optimizer steps); it now holds 8.0 MiB"; f.Evidence != want {
				t.Errorf("got %q, want %q", f.Evidence, want)
			}
		}
	}
	if !found {
		t.Error("no finding is about the growth")
	}
}

func TestPeaksOfStepsEqualANaiveReplay(t *testing.T) {
	compared := 0
	forRandom(t, func(t *testing.T, x *Index, want naive) {
		t.Helper()
		for _, got := range StepPeaks(x) {
			compared++
			step := x.Steps()[got.Number-1]
			highest := slices.Max(want.requested[step.From+1 : step.To+1])
			if got.Bytes != highest || want.requested[got.Event+1] != highest {
				t.Errorf("got %+v, want %d bytes", got, highest)
			}
		}
	})
	if compared == 0 {
		t.Error("no trace has steps")
	}
}
