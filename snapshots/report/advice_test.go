package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestDevicesHaveTheirOwnAdvice has two devices whose workspaces and whose allocators
// could be smaller: the second one's are half of its peak, and little of the first
// one's.
func TestDevicesHaveTheirOwnAdvice(t *testing.T) {
	const blas = "frame blas \"??\" 0 \"at::cuda::getCurrentCUDABlasHandle()\"\nframe main \"/home/me/train.py\" 10 \"main\"\nstack workspace blas main\nstack main main\n"
	device := func(n int, workspace, rest int64) string {
		return fmt.Sprintf("device %d\nalloc 0x10000000 %d stack=workspace\nalloc 0x400000000 %d stack=main\n", n, workspace, rest)
	}
	tr := tracetest.Parse(t, blas+device(0, 72<<20, 1024<<20)+device(1, 136<<20, 136<<20))
	tr.Info.Path = "two.pickle"
	r := FileAdvice(tr)
	for d, saved := range []int64{100 << 20, 20 << 20} {
		r.AddAllocator(d, &whatif.Answer{
			Again: &whatif.Run{PeakReserved: 200 << 20}, Runs: []whatif.Run{{Settings: fmt.Sprintf("max_split_size_mb:%d", 100+d), PeakReserved: 200<<20 - saved}},
			Recorded: whatif.Recorded{Refused: int64(d) << 30, Capacity: int64(d) << 29},
		})
	}
	page := pageOf(t, r, 400)
	var got []string
	for line := range strings.Lines(page) {
		if text, _, ok := strings.Cut(strings.TrimSpace(line), ": under"); ok {
			_, text, _ = strings.Cut(line, "--alloc-conf SETTINGS. ")
			got = append(got, strings.TrimSpace(text))
		} else if text, _, _ = strings.Cut(text, ":4096:2: "); text != "" {
			got = append(got, strings.Join(strings.Fields(text), " "))
		}
	}
	want := []string{
		"two.pickle: 2 devices",
		"device 0: the peak is 1.1 GiB", "-64.0 MiB -6% CUBLAS_WORKSPACE_CONFIG=",
		"How much memory the device has is not recorded, so a run has as much as it needs.",
		"max_split_size_mb:100 -100.0 MiB -50% reserved",
		"device 1: the peak is 272.0 MiB", "-128.0 MiB -47% CUBLAS_WORKSPACE_CONFIG=",
		"The driver refused 1.0 GiB, and gave 512.0 MiB at most: a run gets no more than that.",
		"max_split_size_mb:101 -20.0 MiB -10% reserved",
	}
	equal.Values(t, "the result", want, got)
}

func TestAnActionIsReportedAsDone(t *testing.T) {
	back := int64(-54 << 20)
	e := analysis.Experiment{Once: true, Change: trace.Change{
		ID: 1, Key: "action", From: "none", To: "empty-cache", State: trace.Applied, Step: 18, Predicted: &trace.Prediction{Reserved: &back},
	}}
	e.Effects[analysis.ReservedQuantity] = analysis.Effect{
		Quantity: analysis.ReservedQuantity, Measured: true, Delta: float64(back),
		Before: analysis.Level{Median: 64 << 20, Steps: 1}, After: analysis.Level{Median: 10 << 20, Steps: 1},
	}
	text := pageOf(t, NewChanges([]analysis.Experiment{e}), 80)
	const want = `action: empty-cache, done at step 18
predicted: reserved -54.0 MiB, when the step has ended
measured:
  reserved            64.0 MiB → 10.0 MiB  (-54.0 MiB)
`
	if got := text; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestWhatIsMeasuredTogetherIsSaid has changes of somebody else in the steps that are compared.
func TestWhatIsMeasuredTogetherIsSaid(t *testing.T) {
	made := func(step int64) (e analysis.Experiment) {
		e = analysis.Experiment{Overlaps: []string{"amp: off → bf16"}, Change: trace.Change{ID: step, Key: "checkpoint", To: "all", State: trace.Applied, Step: step}}
		e.Effects[analysis.ReservedQuantity] = analysis.Effect{Quantity: analysis.ReservedQuantity, Measured: true}
		return e
	}
	for n, want := range map[int]bool{1: true, 2: false} { // two that were made together are named as such already
		text := pageOf(t, NewChanges([]analysis.Experiment{made(1), made(2)}[:n]), 80)
		if strings.Contains(text, "together with amp: off → bf16") != want {
			t.Errorf("%d changes:\n%s", n, text)
		}
	}
}

func TestAnActionLeavesOtherPredictionsAlone(t *testing.T) {
	back := int64(-54 << 20)
	made := func(key string, p trace.Prediction) analysis.Experiment {
		return analysis.Experiment{Change: trace.Change{Key: key, State: trace.Applied, Step: 18, Predicted: &p}}
	}
	action := made("action", trace.Prediction{Reserved: &back})
	setting := made("checkpoint", trace.Prediction{PeakAllocated: -100})
	for name, list := range map[string][]analysis.Experiment{"before them": {action, setting}, "after them": {setting, action}} {
		p := NewChanges(list).Predicted
		if p.PeakAllocated != -100 || p.Reserved != nil {
			t.Errorf("%s: got %+v", name, p)
		}
	}
}

// growing is a run of n steps in which main keeps so many bytes of each step.
func growingTrace(tb testing.TB, n, leak int) *trace.Trace {
	tb.Helper()
	return tracetest.Parse(tb, tracetest.Steps(n, func(s int) string {
		return fmt.Sprintf(`
alloc 0x%x %d @%d stack=main
alloc 0x100 4096 @%d stack=act
free_requested 0x100 4096 @%d
free_completed 0x100 4096 @%d
`, (s+1)<<24, leak, s*1000+100, s*1000+200, s*1000+300, s*1000+300)
	}))
}

func TestGate(t *testing.T) {
	tests := map[string]struct {
		leak   int
		limits Limits
		broken string
	}{
		"a peak at the limit is within it":           {mib, Limits{8*mib + 4096, NoLimit, NoLimit}, ""},
		"a peak of one byte more is not":             {mib, Limits{8*mib + 4095, NoLimit, NoLimit}, "the peak of device 0, 8392704 B, is more than 8392703 B"},
		"growth at the limit is within it":           {mib, Limits{NoLimit, mib, NoLimit}, ""},
		"growth of one byte more is not":             {mib + 1, Limits{NoLimit, mib, NoLimit}, "device 0 grows by 1048577 B per step, more than 1048576 B"},
		"growth too small for a finding counts":      {512, Limits{NoLimit, 0, NoLimit}, "device 0 grows by 512 B per step, more than 0 B"},
		"both limits are told":                       {mib, Limits{mib, 1024, NoLimit}, "the peak of device 0, 8.0 MiB, is more than 1.0 MiB; device 0 grows by 1.0 MiB per step, more than 1.0 KiB"},
		"a limit of nothing on memory that is there": {512, Limits{0, NoLimit, NoLimit}, "the peak of device 0, 8.0 KiB, is more than 0 B"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			gate, err := NewGate(growingTrace(t, 8, test.leak), test.limits)
			fatal.If(t, err)
			if got := gate.Broken(); got != test.broken || gate.OK != (test.broken == "") {
				t.Errorf("got %q (ok: %v), want %q", got, gate.OK, test.broken)
			}
		})
	}
}

func TestGateNamesTheSitesThatBrokeIt(t *testing.T) {
	gate, err := NewGate(growingTrace(t, 8, mib), Limits{mib, 1024, NoLimit})
	fatal.If(t, err)
	d := &gate.Devices[0]
	if len(d.Peak.Sites) != 2 || d.Peak.Sites[0].Bytes != 8*mib || d.Peak.Sites[0].Count != 8 {
		t.Errorf("sites of the peak: got %+v", d.Peak.Sites)
	}
	if len(d.Growth.Sites) != 1 || d.Growth.Sites[0].BytesPerStep != mib || d.Growth.Sites[0].Frames[1] != "/home/me/train.py:10 main" {
		t.Errorf("sites of the growth: got %+v", d.Growth.Sites)
	}
	b := pageOf(t, gate, 80)
	wantIn(t, b,
		"FAIL device 0: the peak is 8.0 MiB at event 29, the limit 1.0 MiB\n",
		"FAIL device 0: memory grows by 1.0 MiB per step over 6 steps, the limit 1.0 KiB\n",
		"    1.0 MiB per step, now   8.0 MiB      8x /home/me/train.py:10 main\n",
	)
}

// TestGateSeesGrowthOfEverDifferentStacks has a level that rises because of a
// different stack each time.
func TestGateSeesGrowthOfEverDifferentStacks(t *testing.T) {
	tr := tracetest.Parse(t, tracetest.Steps(8, func(s int) string {
		return fmt.Sprintf("alloc 0x%x 1048576 @%d stack=%s\n", (s+1)<<24, s*1000+100, []string{"main", "act", "opt"}[s%3])
	}))
	gate, err := NewGate(tr, Limits{NoLimit, 1024, NoLimit})
	fatal.If(t, err)
	if g := gate.Devices[0].Growth; !g.Exceeded || g.BytesPerStep != mib || len(g.Sites) != 0 {
		t.Errorf("got %+v, want 1 MiB per step and no site", g)
	}
}

func TestGateThatCannotMeasureDoesNotPass(t *testing.T) {
	tests := map[string]struct {
		steps int
		want  string
	}{
		"no steps":      {0, "the program marks no steps, so growth per step cannot be checked"},
		"one step":      {1, "only 1 step, and growth takes 5"},
		"too few steps": {4, "only 4 steps, and growth takes 5"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := NewGate(growingTrace(t, test.steps, 512), Limits{NoLimit, mib, NoLimit})
			var steps *StepsError
			if !errors.As(err, &steps) || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if _, err := NewGate(growingTrace(t, test.steps, 512), Limits{mib, NoLimit, NoLimit}); err != nil {
				t.Errorf("a limit on the peak alone: %v", err)
			}
		})
	}
}
