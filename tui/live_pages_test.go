package tui

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"

	tea "charm.land/bubbletea/v2"
)

// recording is made once: it never changes.
var recording = sync.OnceValue(tuitest.Recording)

// startRecording opens a recording at its end.
func startRecording(t testing.TB, w, h int, o Options) *driver {
	t.Helper()
	o.Device = -1
	d := start(t, w, h, o, fileOf("run.mtr", recording()))
	d.press("$")
	return d
}

// recordedViews are the pages of running programs, with the keys that lead to
// each.
var recordedViews = map[string][]string{
	"sites": {"3"}, "tensors": {"3", "t"}, "experiments": {"8"}, "settings": {"8", "v"},
}

func TestRecordedScreens(t *testing.T) {
	goldenViews(t, recordedViews, func(t *testing.T, w, h int, o Options, keys []string) *driver {
		t.Helper()
		d := startRecording(t, w, h, o)
		d.press(keys...)
		return d
	})
}

func TestOtherRecordedScreens(t *testing.T) {
	tests := map[string]struct {
		w, h int
		keys []string
	}{
		"site":              {80, 24, []string{"3", "enter"}},
		"stack-of-a-tensor": {80, 24, []string{"3", "t", "enter"}},
		"suspects":          {80, 24, []string{"3", "f"}},
		"a-measured-change": {80, 24, []string{"8", "G"}},
		"a-refused-change":  {80, 24, []string{"8", "j", "j"}},
		"a-settling-change": {120, 40, []string{"8", "j"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := startRecording(t, test.w, test.h, Options{Color: "never"})
			d.press(test.keys...)
			golden(t, name, d.screen())
		})
	}
}

func TestScreensOfChanges(t *testing.T) {
	tests := map[string]struct {
		w, h  int
		keys  []string
		steps int
	}{
		"question":        {80, 24, []string{"1", "C"}, 0},
		"question-narrow": {60, 16, []string{"8", "C"}, 0},
		"no-changes":      {80, 24, []string{"8"}, 0},
		"choices":         {80, 24, []string{"8", "enter"}, 0},
		"pending":         {80, 24, []string{"8", "C", "y"}, 0},
		"measured-narrow": {60, 16, []string{"8", "C", "y"}, 11},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := tuitest.NewProcess(24)
			d := start(t, test.w, test.h, Options{Color: "never", Device: -1}, processFile(p))
			d.press(test.keys...)
			d.train(p, test.steps)
			golden(t, name, d.screen())
		})
	}
}

func TestASiteOpensItsTensorsAndATensorItsStack(t *testing.T) {
	d := startRecording(t, 120, 40, Options{Color: "never"})
	d.shows("3 / statistic enter enter", "51 tensors of statistic.go:19 main.(*statistic).keep | output of h.0.mlp | !first moment")
	d.shows("enter", "main.(*statistic).keep  cmd/memtrain/statistic.go:19 | main.train  cmd/memtrain/run.go:120 | !verdict")
	d.press("y")
	if want := "cmd/memtrain/statistic.go:19 main.(*statistic).keep"; !strings.Contains(d.copied, want) {
		t.Errorf("copied %q, want the stack", d.copied)
	}
	d.shows("enter", "alloc | 93.8 KiB")
	d.shows("esc esc esc", "creation sites")
}

func TestTheSelectedTensorStaysSelectedWhileTheProgramRuns(t *testing.T) {
	d, p := startLive(t, 120, 40, 9)
	d.press("3", "t", "\\", "statistic", "enter", "G")
	before := detailOf(plain(d.screen()))
	d.train(p, 3)
	if after := detailOf(plain(d.screen())); after != before {
		t.Errorf("another tensor is selected:\n%s\nwas\n%s", after, before)
	}
	d.wants("12 of 45 tensors")
}

// detailOf returns the line that names what is selected.
func detailOf(shown string) string {
	_, detail, _ := strings.Cut(shown, "─ Detail")
	for line := range strings.Lines(detail) {
		if strings.Contains(line, "at  ") {
			return line
		}
	}
	return ""
}

func TestTensorsOfARunningProgramStandStillWithinAStep(t *testing.T) {
	d, p := startLive(t, 120, 40, 9)
	d.shows("3 t", "37 tensors,  | MiB | !gelu output")
	p.Begin() // the forward pass of the next step
	d.news()
	d.wants("37 tensors, ", "after step 9")
	d.lacks("gelu output")
	d.shows("c", "gelu output | !after step 9")
	d.shows("c up ^ 4 left 3", "!after step 9")
}

func TestWhatAProgramSaysOfItsSettingsCannotReachTheTerminal(t *testing.T) {
	const evil = "\x1b]0;owned\x07\x1b[2J\u202enone"
	made := *tuitest.Recording()
	live := *made.Live
	live.Options = append([]trace.Option{{Key: evil, Value: evil, About: evil, Choices: []string{evil}, Free: true}}, live.Options...)
	live.Changes = append([]trace.Change{}, live.Changes...)
	live.Changes = append(live.Changes, trace.Change{ID: 99, Key: evil, From: evil, To: evil, State: trace.Refused, Reason: evil})
	live.Connected = true
	made.Live, made.Info.Kind, made.Info.Control = &live, "live", true
	d := start(t, 120, 40, Options{Color: "never", Device: -1}, sourceFile(obeying{given{&made}}))
	for _, keys := range [][]string{{"8"}, {"v"}, {"enter"}, {"enter", "enter"}, {"y"}, {"esc", "G", "enter", "G", "enter"}} {
		d.press(keys...)
		if shown := d.screen(); strings.Contains(shown, "\x1b]") || strings.Contains(shown, "\x1b[2J") || strings.ContainsAny(shown, "\x07\u202e") {
			t.Errorf("after %q a control character got through:\n%q", keys, shown)
		}
	}
}

// click presses the left button at a cell of the screen.
func (d *driver) click(x, y int) {
	d.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
}

func TestTensorsByMouse(t *testing.T) {
	d := startRecording(t, 120, 40, Options{Color: "never"})
	d.press("3")
	d.click(20, headerRows+1) // the heads of columns
	d.wants("bytes▼")
	d.click(20, headerRows+1)
	d.wants("bytes▲")
	d.click(30, headerRows+3)
	d.click(30, headerRows+3)
	d.wants("1 tensor of attention.go:112", "esc back")
	d.click(5, headerRows+2)
	d.lacks("creation sites")
	d.wants("▌ Detail", "main.main")
}

func TestExperimentsByMouse(t *testing.T) {
	d, p := startLive(t, 120, 40, 9)
	d.press("8")
	d.click(5, headerRows+2)
	d.click(5, headerRows+2)
	d.wants("amp: choose", "fp16")
	d.click(5, headerRows+3)
	d.click(5, headerRows+3)
	d.wants("This changes the running job", "amp off → fp16")
	d.click(5, headerRows+1)
	d.press("y")
	wantsAsked(t, p, "amp=fp16")
}

func TestTheCostOfTheProbeIsThatOfEnoughSteps(t *testing.T) {
	steps := func(n, every int, ms, cost int64) (all []trace.Step) {
		for i := range n {
			s := trace.Step{Number: int64(i + 1), Time: int64(i+1) * ms * 1000, Duration: ms * 1_000_000}
			if i%every == 0 {
				s.ProbeNS, s.PeakAllocated = cost, 1
			}
			all = append(all, s)
		}
		return all
	}
	burst := append(steps(6, 1, 100, 80_000_000), steps(320, 80, 100, 0)[6:]...)
	tests := map[string]struct {
		steps []trace.Step
		live  trace.Live
		want  string
	}{
		"every step is measured":             {steps(64, 1, 10, 200_000), trace.Live{}, "probe 2.0%"},
		"too few of them":                    {steps(63, 1, 10, 200_000), trace.Live{}, ""},
		"a burst at the beginning":           {burst[:40], trace.Live{}, "1 step in 7 measured"},
		"a burst, and half a minute since":   {burst, trace.Live{}, "probe 0.0%, 1 step in 100 measured"},
		"some steps are measured":            {steps(3200, 4, 10, 400_000), trace.Live{}, "probe 1.0%, 1 step in 4 measured"},
		"no step is measured yet":            {steps(400, 1000, 100, 0)[1:], trace.Live{}, "probe 0.0%"},
		"steps do not say when or how long":  {slices.Repeat([]trace.Step{{ProbeNS: 2000, PeakAllocated: 1}}, 64), trace.Live{}, "probe 2 µs/step"},
		"something was not reported":         {nil, trace.Live{Dropped: 2, DroppedSteps: 1}, "3 dropped"},
		"only the last half minute is meant": {append(steps(1, 1, 0, 900_000_000), steps(64, 1, 1000, 0)...), trace.Live{}, "probe 0.0%"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(probeWords(test.steps, &test.live), ", "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestTheScreenSaysHowOldWhatItShowsIs has a program that measures some steps only.
func TestTheScreenSaysHowOldWhatItShowsIs(t *testing.T) {
	d, p := startLive(t, 80, 24, 3)
	d.wants("Memory, now")
	p.Pass(0, 0)
	d.news()
	d.wants("Memory, after step 3, 1 step ago")
	d.shows("4", "to step 3")
	p.Pass(777<<30, 888<<30)
	d.news()
	d.shows("1", "Memory, after the last step | 777.0 GiB | 888.0 GiB | What it is, at the peak of step 3, 2 steps ago")
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
