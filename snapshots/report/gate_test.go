package report

import (
	"errors"
	"fmt"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

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
