package tui

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/keys"
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

// TestTheScreenSaysHowOldWhatItShowsIs has a program that measures some steps only.
func TestTheScreenSaysHowOldWhatItShowsIs(t *testing.T) {
	d, p := startLive(t, 80, 24, 3)
	d.wants("Memory, now")
	p.Pass()
	d.news()
	d.wants("Memory, after step 3")
	d.shows("4", "to step 3")
}

func TestBeforeAFirstLookTheScreenPraisesNothing(t *testing.T) {
	p := tuitest.NewProcess(3)
	p.Look(true)
	d := start(t, 80, 24, Options{Color: "never", Device: -1}, processFile(p))
	d.news()
	d.wants("a first step is being measured …")
	p.Look(false)
	d.train(p, 20) // findings change seldom
	d.lacks("being measured")
	d.wants("suspected leak")
}

// TestTabsAreWholeWords has a rank of a job on a small terminal: all ten tabs.
func TestTabsAreWholeWords(t *testing.T) {
	for i := range tabs {
		if title := tabs[i].shortTitle(); len(title) > 8 {
			t.Errorf("%q is long", title)
		}
	}
	row, x := "", 0
	for i := range tabs {
		text := short.text(keys.PageKey(i), &tabs[i], false)
		row, x = row+text, x+len(text)
	}
	if x >= 80 {
		t.Errorf("%q has %d cells", row, x)
	}
}
