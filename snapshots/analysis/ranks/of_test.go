package ranks

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// ran is a program on a device of two blocks of which one stays.
const ran = `
device 0
alloc 0x100000 1000 @1000
alloc 0x110000 3000 @2000
free_completed 0x110000 3000 @3000
segment 0x100000 131072
block 0x100000 65536 active_allocated requested=1000
block 0x110000 65536 inactive
`

func TestARowIsWhatAnIndexSays(t *testing.T) {
	measured := trace.Step{
		Number: 4, Duration: 7, PeakAllocated: 900, PeakReserved: 1000,
		AtPeak: []trace.Amount{{Name: "activation", Bytes: 500}}, Settings: []trace.Value{{Key: "amp", Value: "off"}},
	}
	passing := trace.Step{Number: 5, Duration: 8}
	tests := map[string]struct {
		growing                       bool
		steps                         []trace.Step
		step, duration, peak          int64
		reserved, activation, settled int64 // settled is how many settings are known
	}{
		"a file without steps":                             {false, nil, 0, 0, 131072, 131072, 0, 0},
		"a program just attached to":                       {true, nil, 0, 0, 0, 0, 0, 0},
		"a step that was measured":                         {true, []trace.Step{measured}, 4, 7, 900, 1000, 500, 1},
		"a step that was not watched hides none that was":  {true, []trace.Step{measured, passing}, 5, 8, 900, 1000, 500, 1},
		"a step that was not watched and none before that": {true, []trace.Step{passing}, 5, 8, 0, 0, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			run := tracetest.Parse(t, ran)
			run.Info.Growing, run.Steps = test.growing, test.steps
			run.Live = &trace.Live{PID: 7, Rank: &trace.Rank{Job: "a", Rank: 1, World: 2}}
			r := Of(analysis.NewIndex(run, &run.Devices[0]))
			if r.Step != test.step || r.StepDuration != test.duration || int64(len(r.Settings)) != test.settled {
				t.Errorf("step %d took %d, settings %v", r.Step, r.StepDuration, r.Settings)
			}
			if r.PeakAllocated != test.peak || r.PeakReserved != test.reserved || r.AtPeak[trace.Activation] != test.activation {
				t.Errorf("peaks %d and %d, activations %d; want %d, %d, %d", r.PeakAllocated, r.PeakReserved, r.AtPeak[trace.Activation], test.peak, test.reserved, test.activation)
			}
			if r.Rank.Rank != 1 || r.Job != "a" || r.PID != 7 || r.Allocated != 65536 || r.Reserved != 131072 {
				t.Errorf("the row is %+v", r)
			}
		})
	}
}
