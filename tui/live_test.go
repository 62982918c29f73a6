package tui

import (
	"context"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
)

// startLive opens a process that has trained so many steps.
func startLive(t testing.TB, w, h, steps int) (*driver, *tuitest.Process) {
	t.Helper()
	return startLiveWith(t, w, h, steps, Options{Color: "never", Device: -1})
}

func startLiveWith(t testing.TB, w, h, steps int, o Options) (*driver, *tuitest.Process) {
	t.Helper()
	p := tuitest.NewProcess(steps)
	d := start(t, w, h, o, processFile(p))
	d.news()
	return d, p
}

// train lets the process train and tells the screen.
func (d *driver) train(p *tuitest.Process, steps int) {
	p.Train(steps)
	d.news()
}

// liveViews are the pages of a running program that TestRecordedScreens does not
// draw, with the keys that lead to each.
var liveViews = map[string][]string{
	"overview": {"1"}, "layers": {"2"}, "timeline": {"4"}, "segments": {"5"}, "stacks": {"6"}, "events": {"7"},
	"advice": {"0"}, "advice help": {"0", "?"},
}

func TestLiveScreens(t *testing.T) {
	goldenViews(t, liveViews, func(t *testing.T, w, h int, o Options, keys []string) *driver {
		t.Helper()
		d, p := startLiveWith(t, w, h, 20, o)
		d.press(keys...)
		d.train(p, 1)
		return d
	})
}

// troubles are states of a running program that are not the usual ones.
var troubles = map[string]func(d *driver, p *tuitest.Process){
	"rehearsed":     func(_ *driver, p *tuitest.Process) { p.Rehearse("NVIDIA H100 80GB HBM3") },
	"frozen":        func(d *driver, _ *tuitest.Process) { d.press("space") },
	"scrolled back": func(d *driver, _ *tuitest.Process) { d.press("4", "left", "left", "1") },
	"reconnecting":  func(_ *driver, p *tuitest.Process) { p.Disconnect("the connection was lost; trying again") },
	"ended":         func(_ *driver, p *tuitest.Process) { p.Lose("the process has ended; this is its last state") },
	"restarted":     func(_ *driver, p *tuitest.Process) { p.Restart(3) },
	"events lost on the timeline": func(d *driver, p *tuitest.Process) {
		p.Miss(12_345, "the viewer was too slow")
		p.Train(2)
		d.press("4")
	},
	"an event of a gap": func(d *driver, p *tuitest.Process) {
		p.Miss(12_345, "the viewer was too slow")
		d.news()
		d.press("7", "up")
	},
	"a setting on the timeline": func(d *driver, p *tuitest.Process) {
		d.press("C", "y")
		p.Train(3)
		d.press("4", "+", "+")
	},
	"layers of a step before": func(d *driver, _ *tuitest.Process) { d.press("4", "left", "left", "left", "2") },
	"layers with checkpoints": func(d *driver, p *tuitest.Process) { d.press("C", "y", "2"); p.Train(3) },
	"layers sorted":           func(d *driver, _ *tuitest.Process) { d.press("2", ">", ">", "I") },
}

func TestScreensOfTrouble(t *testing.T) {
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			d, p := startLive(t, 80, 24, 20)
			trouble(d, p)
			d.news()
			golden(t, strings.ReplaceAll(name, " ", "-"), d.screen())
		})
	}
}

func TestSpaceFreezesTheScreen(t *testing.T) {
	d, p := startLive(t, 120, 40, 3)
	for _, number := range []string{"1", "2", "4", "7"} {
		d.press(number, "space")
		d.wants("frozen: space goes on")
		frozen := d.screen()
		d.train(p, 4)
		if d.screen() != frozen {
			t.Errorf("page %s moved while it was frozen", number)
		}
		d.shows("space", "live | !frozen")
	}
	d.wants("step 19")
}

func TestPagesShowTheStepOfTheCursor(t *testing.T) {
	d, _ := startLive(t, 120, 40, 20)
	d.shows("2", "Layers of step 20")
	d.scene().Move(d.scene().Steps[6].To - 1)
	d.shows("m", "Layers of step 7 | 13 steps back")
	d.shows("1", "step 7  | Memory, at the cursor")
	d.scene().Move(-1)
	d.shows("2", "No step has ended before the cursor")
}

func TestALostConnectionComesBack(t *testing.T) {
	d, p := startLive(t, 120, 40, 5)
	p.Disconnect("the connection was lost; trying again")
	d.news()
	d.wants("the connection was lost; trying again", "step 5")
	p.Disconnect("")
	p.Miss(99, "the connection was lost")
	d.news()
	d.wants("live", "step 6")
	d.lacks("trying again")
}

// TestOldEventsAreLetGo keeps the cursor on its event while others go, and puts
// it at the start when its own has gone.
func TestOldEventsAreLetGo(t *testing.T) {
	d, p := startLive(t, 120, 40, 20)
	at := d.scene().Steps[10].From
	addr := d.scene().Events().At(at + 3).Addr
	d.press("4")
	d.scene().Move(at + 3)
	gone := d.scene().Steps[4].From
	p.Forget(gone)
	d.news()
	d.wants("older events let go")
	if got := d.scene().Cursor(); got != at+3-gone || d.scene().Events().At(got).Addr != addr {
		t.Errorf("the cursor is at event %d, want %d, which is the same one", got, at+3-gone)
	}
	p.Forget(at)
	d.news()
	if got := d.scene().Cursor(); got != -1 {
		t.Errorf("the cursor is at event %d, want the start: its own event is gone", got)
	}
	d.press("$")
	d.train(p, 1)
	d.wants("step 21", "live")
}

func TestASearchFindsWhatComes(t *testing.T) {
	d, p := startLive(t, 120, 40, 3)
	d.shows("7 \\ step_end enter", "Events matching “step_end”: 3 of")
	d.train(p, 2)
	d.wants("Events matching “step_end”: 5 of")
	p.Forget(d.scene().Steps[1].From)
	d.news()
	d.wants("Events matching “step_end”: 4 of")
}

func TestAnotherProgramIsShownFromItsEnd(t *testing.T) {
	d, p := startLive(t, 120, 40, 20)
	d.press("4", "left")
	p.Restart(2)
	d.news()
	d.wants("pid 4712", "process 4711 ended at step 20; following its restart, process 4712", "gap: events missing")
	d.shows("1", "missing | step 2")
}

// TestAQuestionIsNeverPulledAway holds a question back while the trace grows:
// the screen waits for it, and goes on when it is answered.
func TestAQuestionIsNeverPulledAway(t *testing.T) {
	d, p := startLive(t, 120, 40, 3)
	s := d.scene()
	s.Gate.Read(func() {
		d.train(p, 1)
		if got := s.StepAt(s.Last()).Number; got != 3 {
			t.Errorf("the index went to step %d while it was read", got)
		}
	})
	d.send(page.Note{})
	d.wants("step 4")
}

func TestAProcessWithoutMemoryIsWaitedFor(t *testing.T) {
	p := tuitest.NewProcess(0)
	nothing := *p.Trace()
	nothing.Devices = nil
	source := &growing{Process: p, trace: &nothing}
	d := start(t, 80, 24, Options{Color: "never", Device: -1}, File{Name: "4711", Live: true, Load: source.load})
	d.wants("has not used its device yet")
	source.trace = nil
	d.train(p, 1)
	d.wants("step 1", "live")
}

// TestRecordingOpensAtItsEnd shows what the live screen showed last.
func TestRecordingOpensAtItsEnd(t *testing.T) {
	live, p := startLive(t, 80, 24, 20)
	recorded := *p.Trace()
	recorded.Info.Growing, recorded.Info.Kind = false, "recording"
	d := start(t, 80, 24, Options{Color: "never", Device: -1}, fileOf("run.mtr", &recorded))
	d.wants("step 20", "recording")
	equal.Values(t, "the waterfall when it ran, and of the recording", waterfall(live), waterfall(d))
}

// TestAWaterfallAtAnyMomentIsExplained scrubs a recording to its peak and to
// other moments, at which nobody looked at the device.
func TestAWaterfallAtAnyMomentIsExplained(t *testing.T) {
	recorded := *tuitest.NewProcess(20).Trace()
	recorded.Info.Growing, recorded.Info.Kind = false, "recording"
	d := start(t, 80, 24, Options{Color: "never", Device: -1}, fileOf("run.mtr", &recorded))
	for _, keys := range [][]string{{"1", "c"}, {"1", "c", "4", "left", "1"}, {"4", "left", "left", "1"}, {"4", "a", "1"}} {
		d.press(keys...)
		d.wants("Memory, ")
		for _, row := range [][]string{{"outside the allocator", "32.0 MiB"}, {"other processes", "64.0 MiB"}, {"unexplained", "0 B"}} {
			_, text, _ := strings.Cut(plain(d.screen()), row[0])
			if said := strings.TrimSpace(text); !strings.HasPrefix(said, row[1]) {
				t.Errorf("after %v: %s %.12s, want %s\n%s", keys, row[0], said, row[1], d.screen())
			}
		}
	}
}

// TestWhatIsOnTheHostIsBelowTheWaterfall shows a recording at its end and at an
// earlier step, whose program had nothing on the host.
func TestWhatIsOnTheHostIsBelowTheWaterfall(t *testing.T) {
	recorded := *tuitest.NewProcess(20).Trace()
	recorded.Steps = slices.Clone(recorded.Steps)
	last := &recorded.Steps[len(recorded.Steps)-1]
	last.Host = []trace.Amount{{Name: "optimizer", Bytes: 6 << 20}, {Name: "activation", Bytes: 2 << 20}}
	last.ToHost, last.FromHost = 3<<20, 5<<20
	for _, size := range [][2]int{{80, 25}, {200, 60}} {
		d := start(t, size[0], size[1], Options{Color: "never", Device: -1}, fileOf("run.mtr", &recorded))
		d.press("1")
		if text := strings.Join(strings.Fields(plain(d.screen())), " "); !strings.Contains(text, "on the host 8.0 MiB 6.0 MiB optimizer state, 2.0 MiB act") {
			t.Errorf("at %v:\n%s", size, d.screen())
		}
		if size[0] > 100 {
			d.wants("copied in a step", "3.0 MiB to the host, 5.0 MiB from it")
		}
		d.press("4")
		for range 40 {
			d.press("left")
		}
		d.press("1")
		if strings.Contains(plain(d.screen()), "on the host") {
			t.Errorf("at an earlier step:\n%s", d.screen())
		}
	}
}

// waterfall returns the rows of the overview from parameters on.
func waterfall(d *driver) string {
	_, rows, _ := strings.Cut(plain(d.screen()), "parameters")
	rows, _, _ = strings.Cut(rows, "unexplained")
	return rows
}

// growing is a process that has something else to show at first.
type growing struct {
	*tuitest.Process
	trace *trace.Trace
}

func (g *growing) Trace() *trace.Trace {
	if g.trace != nil {
		return g.trace
	}
	return g.Process.Trace()
}

func (g *growing) load(context.Context, trace.Progress) (trace.Source, error) { return g, nil }

func TestAFindingOfALiveScreenIsClicked(t *testing.T) {
	for name, test := range map[string]struct{ w, h, y int }{"small": {80, 24, 3}, "large": {120, 40, 5}} {
		t.Run(name, func(t *testing.T) {
			d, _ := startLive(t, test.w, test.h, 30)
			d.wants("suspected leak")
			d.send(tea.MouseClickMsg{X: 10, Y: test.y})
			d.wants("creation sites")
		})
	}
}
