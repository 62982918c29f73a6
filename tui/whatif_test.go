package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"

	tea "charm.land/bubbletea/v2"
)

// answered is an answer of several kinds of rows.
func answered() *whatif.Answer {
	return &whatif.Answer{
		Recorded: whatif.Recorded{
			PeakReserved: 78 << 30, PeakAllocated: 61 << 30, Held: 5 << 30,
			OOM: &whatif.OOM{Event: 1234, Size: 2 << 30, Segment: 2 << 30, Reserved: 78 << 30, Capacity: 79<<30 - 1<<28},
		},
		Again: &whatif.Run{PeakReserved: 78 << 30, PeakAllocated: 61 << 30, OOM: true, OOMEvent: 1234},
		Runs: []whatif.Run{
			{Settings: "expandable_segments:True", PeakReserved: 64 << 30, PeakAllocated: 63 << 30, Fits: true, Reserved: 64 << 30, OOMEvent: -1},
			{Settings: "max_split_size_mb:128", PeakReserved: 78 << 30, PeakAllocated: 60 << 30, OOM: true, OOMEvent: 900, Ends: true},
			{Settings: "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", PeakReserved: 78<<30 + 1<<28, PeakAllocated: 62 << 30, OOM: true, OOMEvent: 1234},
			{Settings: "garbage_collection_threshold:0.8", PeakReserved: 78 << 30, PeakAllocated: 61 << 30, OOM: true, OOMEvent: 1234, Note: "garbage_collection_threshold does nothing without a memory fraction"},
		},
	}
}

// says returns an Ask that always gives the same answer.
func says(a *whatif.Answer, err error) whatif.Ask {
	return func(context.Context, whatif.Question) (*whatif.Answer, error) { return a, err }
}

func TestScreensOfWhatIf(t *testing.T) {
	unlike := answered()
	unlike.Recorded.WhyNot, unlike.Recorded.PeakAllocated, unlike.Again.Fits = "the file lost earlier events", 0, true
	for name, test := range map[string]struct {
		w, h int
		ask  whatif.Ask
		keys []string
	}{
		"fits-80x24":      {80, 24, says(answered(), nil), []string{"w"}},
		"runs-out-80x24":  {80, 24, says(answered(), nil), []string{"w", "down", "down"}},
		"last-row-60x16":  {60, 16, says(answered(), nil), []string{"w", "G"}},
		"unlike-80x24":    {80, 24, says(unlike, nil), []string{"w"}},
		"wide-200x60":     {200, 60, says(answered(), nil), []string{"w"}},
		"nothing-80x24":   {80, 24, says(&whatif.Answer{Recorded: whatif.Recorded{PeakReserved: 1 << 30, WhyNot: "the file has no history"}}, nil), []string{"w"}},
		"failure-80x24":   {80, 24, says(nil, errors.New("it cannot be done")), []string{"w"}},
		"help-over-80x24": {80, 24, says(answered(), nil), []string{"w", "?"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, test.w, test.h, Options{Color: "never", WhatIf: test.ask}, fileOf("run.pickle", tuitest.Small()))
			d.press(test.keys...)
			golden(t, name, d.screen())
		})
	}
}

func TestWhatIfAsksAboutWhatIsShown(t *testing.T) {
	var asked []whatif.Question
	ask := func(_ context.Context, q whatif.Question) (*whatif.Answer, error) {
		asked = append(asked, q)
		return answered(), nil
	}
	d := start(t, 80, 24, Options{Color: "never", WhatIf: ask, Device: -1, Page: "segments"}, fileOf("two.pickle", tuitest.OneOfTwoRanOut()))
	d.press("w", "w", "w") // the answer is kept
	if len(asked) != 1 || asked[0].Device.ID != d.m.file().device {
		t.Fatalf("asked %d times: %+v", len(asked), asked)
	}
	if e := asked[0].Device.Events.At(asked[0].Event); e.Kind.String() != "oom" {
		t.Errorf("asked about a %s", e.Kind)
	}
	d.press("w", "d", "w")
	if len(asked) != 2 || asked[1].Device.ID == asked[0].Device.ID {
		t.Errorf("asked %d times, with the next device", len(asked))
	}
}

func TestWhatIfIsCalledOff(t *testing.T) {
	var off error
	ask := func(ctx context.Context, _ whatif.Question) (*whatif.Answer, error) {
		off = ctx.Err()
		return nil, off
	}
	d := start(t, 80, 24, Options{Color: "never", WhatIf: ask, Page: "segments"}, fileOf("run.pickle", tuitest.Small()))
	d.hold = true // the command is on its way
	d.shows("w", "replaying")
	d.shows("esc", "!What if")
	d.hold = false
	for _, cmd := range d.waiting {
		d.run(cmd)
	}
	if off == nil {
		t.Error("the replay goes on after the panel was closed")
	}
}

func TestWhatIfGivesWay(t *testing.T) {
	d := start(t, 80, 24, Options{Color: "never", WhatIf: says(answered(), nil)}, fileOf("run.pickle", tuitest.Small()))
	d.shows("w 4", "!What if | 4 Timeline")
	d.press("w", "down", "y")
	if want := "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"; d.copied != want {
		t.Errorf("copied %q, want %q", d.copied, want)
	}
	d.shows("q", "!What if")
	if d.quit {
		t.Error("q closes the panel first")
	}
	without := start(t, 80, 24, Options{Color: "never"}, fileOf("run.pickle", tuitest.Small()))
	without.shows("w", "!What if")
}

// TestWhatIfKeepsNothingOfAProcess asks anew each time, and holds no trace that the
// screen has let go of.
func TestWhatIfKeepsNothingOfAProcess(t *testing.T) {
	asked := 0
	ask := func(context.Context, whatif.Question) (*whatif.Answer, error) {
		asked++
		return answered(), nil
	}
	d := start(t, 80, 24, Options{Color: "never", WhatIf: ask, Device: -1}, processFile(tuitest.NewProcess(3)))
	d.press("w", "w")
	if p := &d.m.whatIf; p.asked.trace != nil || p.replay.Answered().trace != nil {
		t.Error("the trace is kept")
	}
	d.shows("w", "Reproduced")
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

// TestTheOverviewSaysWhichSettingsWouldHaveFit has a replay of which one run fits, by
// the settings' doing.
func TestTheOverviewSaysWhichSettingsWouldHaveFit(t *testing.T) {
	d := start(t, 80, 24, Options{Color: "never", WhatIf: says(answered(), nil)}, fileOf("run.pickle", tuitest.Small()))
	d.shows("o", "Out of memory | 16.0 GiB  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True | !max_split_size_mb:128")
}

// TestTheOverviewReplaysWhatItsFindingsAskAbout has a cache that was never in use at
// once: the answer stands among the findings.
func TestTheOverviewReplaysWhatItsFindingsAskAbout(t *testing.T) {
	tr := tracetest.Parse(t, `
device 0
segment_alloc 0x10000000 268435456
alloc 0x10000000 1048576
segment 0x10000000 268435456 stream=0 type="large"
block 0x10000000 1048576 active_allocated requested=1048576
block 0x10100000 267386880 inactive
`)
	ask := func(_ context.Context, q whatif.Question) (*whatif.Answer, error) {
		if len(q.Settings) != 1 {
			t.Errorf("asked for %q", q.Settings)
		}
		return &whatif.Answer{Again: &whatif.Run{PeakReserved: 256 << 20}, Runs: []whatif.Run{{Settings: q.Settings[0], PeakReserved: 56 << 20}}}, nil
	}
	d := start(t, 120, 40, Options{Color: "never", WhatIf: ask}, fileOf("run.pickle", tr))
	d.wants("expandable_segments:True a", "requests reserves 56.0 MiB", "saves 200.0 MiB")
}

// TestTheOverviewComparesDevices has two devices, the first with four times as much as the
// second. Only the first one's page says so.
func TestTheOverviewComparesDevices(t *testing.T) {
	tr := tracetest.Parse(t, "device 0\nalloc 0x10000000 838860800\ndevice 1\nalloc 0x10000000 209715200\n")
	d := start(t, 120, 40, Options{Color: "never", Device: -1}, fileOf("run.pickle", tr))
	const text = "Device 0 holds 800.0 MiB"
	d.wants(text)
	d.press("d")
	d.lacks(text)
}

// twoRuns are two versions of a program: in the second, a script of another name, each
// block of the model is half as large, and one is of a new line.
func twoRuns(t *testing.T) []File {
	t.Helper()
	const run = `
frame linear "/me/model.py" 20 "forward"
frame attend "/me/model.py" 30 "forward"
frame main "/me/SCRIPT.py" 10 "main"
frame module "/me/SCRIPT.py" 20 "<module>"
stack lin linear main module
stack att attend main module
device 0
`
	parse := func(script, events string) *trace.Trace {
		return tracetest.Parse(t, strings.ReplaceAll(run, "SCRIPT", script)+events)
	}
	return []File{
		fileOf("first.pickle", parse("train", "alloc 0x100000 4096 stack=lin\nalloc 0x200000 2048 stack=lin\n")),
		fileOf("second.pickle", parse("train_amp", "alloc 0x100000 2048 stack=lin\nalloc 0x200000 1024 stack=lin\nalloc 0x300000 512 stack=att\n")),
	}
}

func TestTheOtherFileIsReadWhenItIsAskedFor(t *testing.T) {
	loads := 0
	other := File{Name: "other.pickle", Load: func(context.Context, trace.Progress) (trace.Source, error) {
		loads++
		return given{tuitest.Small()}, nil
	}}
	d := start(t, 100, 30, Options{Color: "never"}, fileOf("run.pickle", tuitest.Small()), other)
	d.press("6")
	if loads != 0 {
		t.Error("the other file is read although it was not asked for")
	}
	d.hold = true
	d.shows("v", "reading other.pickle …")
	d.hold = false
	for len(d.waiting) > 0 {
		cmd := d.waiting[0]
		d.waiting = d.waiting[1:]
		d.run(cmd)
	}
	d.wants("no difference")
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.press("v", "v")
	if loads != 1 {
		t.Errorf("the other file was read %d times", loads)
	}
}
