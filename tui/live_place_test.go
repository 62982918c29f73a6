package tui

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

func TestTheCostOfTheProbeIsTheMeanOfTheLastSteps(t *testing.T) {
	step := func(cost, peak int64) trace.Step {
		return trace.Step{Duration: 1_000_000, ProbeNS: cost, PeakAllocated: peak}
	}
	tests := map[string]struct {
		steps []trace.Step
		live  trace.Live
		want  string
	}{
		"every step is measured":        {[]trace.Step{step(10_000, 1), step(30_000, 1)}, trace.Live{}, "probe 2.0%"},
		"some steps are measured":       {[]trace.Step{step(40_000, 1), step(0, 0), step(0, 0), step(0, 0)}, trace.Live{}, "probe 1.0%, 1 step in 4"},
		"no step is measured yet":       {[]trace.Step{step(0, 0)}, trace.Live{}, "probe 0.0%"},
		"steps do not say how long":     {[]trace.Step{{ProbeNS: 3000}, {ProbeNS: 1000}}, trace.Live{}, "probe 2 µs/step"},
		"something was not reported":    {[]trace.Step{step(0, 1)}, trace.Live{Dropped: 2, DroppedSteps: 1}, "probe 0.0%, 3 dropped"},
		"only the last steps are meant": {append([]trace.Step{step(900_000, 1)}, make([]trace.Step, probedSteps)...), trace.Live{}, "probe 0 µs/step"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := probeText(test.steps, &test.live); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
