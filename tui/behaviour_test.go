package tui

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
)

func startSmall(t *testing.T, w, h int) *driver {
	t.Helper()
	return start(t, w, h, Options{Color: "never"}, fileOf("run.pickle", tuitest.Small()))
}

// scene returns what is being looked at.
func (d *driver) scene() *page.Scene { return d.m.file().current().scene }

func TestTheFirstFrameDoesNotWaitForTheLoad(t *testing.T) {
	loaded := false
	f := File{Name: "slow.pickle", Load: func(context.Context, trace.Progress) (trace.Source, error) {
		loaded = true
		return given{tuitest.Small()}, nil
	}}
	d := &driver{t: t, m: New([]File{f}, Options{}), hold: true}
	d.m.tick = func(*file) tea.Cmd { return nil }
	d.run(d.m.Init())
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.wants("slow.pickle", "loading", "esc cancels")
	if loaded {
		t.Error("the file was loaded before the first frame")
	}
	d.hold = false
	for _, cmd := range d.waiting {
		d.run(cmd)
	}
	d.wants("What stands out")
}

// TestAFileIsDrawnBeforeItIsAnalysed has what the first page lacks begin after a frame, and
// nothing else of it.
func TestAFileIsDrawnBeforeItIsAnalysed(t *testing.T) {
	var put []tea.Cmd
	d := &driver{t: t, m: New([]File{fileOf("a.pickle", tuitest.Small())}, Options{})}
	d.m.tick = func(*file) tea.Cmd { return nil }
	d.m.later = func(cmd tea.Cmd) tea.Cmd {
		put = append(put, cmd)
		return nil
	}
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	d.run(d.m.Init())
	d.wants("Now, and at most", "adding up")
	if len(put) != 1 {
		t.Fatalf("%d commands wait for a frame", len(put))
	}
	d.run(put[0])
	d.wants("Who held the rest")
	d.press("4")
	if len(put) != 1 {
		t.Error("another page waits for a frame, too")
	}
}

func TestAFailedLoadSaysWhyAndCanBeTriedAgain(t *testing.T) {
	tries := 0
	f := File{Name: "bad.pickle", Load: func(context.Context, trace.Progress) (trace.Source, error) {
		if tries++; tries == 1 {
			return nil, errors.New("damaged at byte 99: no such opcode")
		}
		return given{tuitest.Small()}, nil
	}}
	d := start(t, 80, 24, Options{}, f)
	d.wants("This file could not be opened.", "damaged at byte 99: no such opcode")
	d.shows("enter", "What stands out")
}

func TestAFileWithoutDevicesSaysSo(t *testing.T) {
	empty := tuitest.Small()
	empty.Devices = nil
	d := start(t, 80, 24, Options{}, fileOf("empty.pickle", empty))
	d.wants("no segments and no events")
}

func TestTheFirstPageCanBeChosen(t *testing.T) {
	for _, chosen := range []string{"stacks", "Stacks", "6"} {
		d := start(t, 80, 24, Options{Page: chosen}, fileOf("run.pickle", tuitest.Small()))
		d.wants("Stacks at the cursor")
	}
	start(t, 80, 24, Options{Page: "nonsense"}, fileOf("run.pickle", tuitest.Small())).wants("What stands out")
}

// TestKeysGoFromMarkToMark walks over all annotations, forward and back.
func TestKeysGoFromMarkToMark(t *testing.T) {
	d := startSmall(t, 120, 40)
	d.press("4")
	d.scene().Move(0)
	var want, forward, back []int
	for _, m := range d.scene().Marks {
		if event := min(m.Event, d.scene().Last()); event > d.scene().Cursor() && !slices.Contains(want, event) {
			want = append(want, event)
		}
	}
	for range want {
		d.press("}")
		forward = append(forward, d.scene().Cursor())
	}
	if len(want) < 3 || !slices.Equal(forward, want) {
		t.Errorf("} goes to %v, want %v", forward, want)
	}
	for range want {
		back = append(back, d.scene().Cursor())
		d.press("{")
	}
	slices.Reverse(back)
	if !slices.Equal(back, want) {
		t.Errorf("{ goes back over %v, want %v", back, want)
	}
}

// TestAFileOpensOnTheDeviceThatRanOut has a device 0 with more events, of one
// that ran out as device 1, and of that one's recording.
func TestAFileOpensOnTheDeviceThatRanOut(t *testing.T) {
	tr := tuitest.OneOfTwoRanOut()
	recording := *tr
	recording.Live = &trace.Live{}
	for name, f := range map[string]File{"snapshot": fileOf("two.pickle", tr), "recording": fileOf("two.mtr", &recording)} {
		d := start(t, 120, 40, Options{Color: "never", Device: -1}, f)
		if at := d.scene().Cursor(); d.scene().Index.Device().ID != 1 || d.scene().OOMs[0].Event != at {
			t.Errorf("%s: opened on device %d, at event %d", name, d.scene().Index.Device().ID, at)
		}
		d.wants("device 1 of 2")
		d.lacks("device 1: out of memory")
		asked := start(t, 120, 40, Options{Color: "never", Device: 0}, f)
		asked.wants("device 0 of 2", "device 1: out of memory", "Device 1 ran out of memory, at its event 123")
	}
}

func TestNextAndPreviousMatchGoAroundTheEnds(t *testing.T) {
	d := startSmall(t, 80, 24)
	d.press("7", "^", "/", "log_loss", "enter")
	first := d.scene().Cursor()
	d.press("n")
	second := d.scene().Cursor()
	d.press("N")
	if d.scene().Cursor() != first || second <= first {
		t.Errorf("matches at %d and %d; back at %d", first, second, d.scene().Cursor())
	}
	d.press("N")
	if d.scene().Cursor() <= second {
		t.Errorf("before the first match comes %d, want the last", d.scene().Cursor())
	}
	d.press("n")
	if d.scene().Cursor() != first {
		t.Errorf("after the last match comes %d, want %d", d.scene().Cursor(), first)
	}
}

func TestEnterGoesToTheOtherEndOfAnAllocation(t *testing.T) {
	d := startSmall(t, 80, 24)
	d.press("7", "^", "/", "free_completed", "enter")
	freed := d.scene().Cursor()
	d.press("enter")
	made := d.scene().Cursor()
	if made >= freed {
		t.Fatalf("the free at %d led to %d", freed, made)
	}
	d.press("enter")
	if d.scene().Cursor() != freed {
		t.Errorf("back at %d, want %d", d.scene().Cursor(), freed)
	}
}

func TestTheMouseMovesTheTimelinesCursorAndZooms(t *testing.T) {
	d := startSmall(t, 120, 40)
	d.press("4")
	d.send(tea.MouseClickMsg{X: 30, Y: 12, Button: tea.MouseLeft})
	at := d.scene().Cursor()
	if at <= 0 || at > 100 {
		t.Errorf("a click on the left moved the cursor to %d", at)
	}
	d.send(tea.MouseMotionMsg{X: 60, Y: 12, Button: tea.MouseLeft})
	if d.scene().Cursor() <= at {
		t.Errorf("dragging right moved the cursor from %d to %d", at, d.scene().Cursor())
	}
	d.send(tea.MouseReleaseMsg{X: 60, Y: 12})
	d.send(tea.MouseMotionMsg{X: 20, Y: 12})
	if d.scene().Cursor() <= at {
		t.Error("the cursor followed the mouse after its button was released")
	}
	d.send(tea.MouseWheelMsg{X: 60, Y: 12, Button: tea.MouseWheelUp})
	d.lacks("all 247 events")
}

func TestClickingAHeadSorts(t *testing.T) {
	d := startSmall(t, 100, 30)
	click := func(beside, head string) {
		t.Helper()
		for y, line := range strings.Split(plain(d.screen()), "\n") {
			if at := strings.Index(line, head); at >= 0 && strings.Contains(line, beside) {
				d.send(tea.MouseClickMsg{X: len([]rune(line[:at])), Y: y, Button: tea.MouseLeft})
				return
			}
		}
		t.Fatalf("no head %q", head)
	}
	d.press("5")
	click("blocks by address", "free")
	d.wants("free▼")
	click("blocks by address", "free▼")
	d.wants("free▲")
	d.press("6")
	click("share", "count")
	d.wants("count▼")
	d.press("7")
	click("action", "size")
	d.wants("largest first")
}

func TestClickingATabOpensItsPage(t *testing.T) {
	d := startSmall(t, 80, 24)
	at := strings.Index(strings.Split(plain(d.screen()), "\n")[0], "6 Stacks")
	d.send(tea.MouseClickMsg{X: at, Y: 0, Button: tea.MouseLeft})
	d.wants("Stacks at the cursor")
}

func TestQuitAndSuspend(t *testing.T) {
	d := startSmall(t, 80, 24)
	d.press("q")
	if !d.quit {
		t.Error("q did not quit")
	}
	_, cmd := d.m.Update(keyPress("ctrl+z"))
	if got := runAll(cmd); got != (tea.SuspendMsg{}) {
		t.Errorf("ctrl+z gave %T", got)
	}
}

func TestAHiddenPageComputesNothing(t *testing.T) {
	d := startSmall(t, 80, 24)
	d.hold = true
	d.waiting = nil
	d.press("4", "5", "1")
	d.hold = false
	for _, cmd := range d.waiting {
		d.run(cmd)
	}
	d.waiting, d.hold = nil, true
	d.send(tea.WindowSizeMsg{Width: 90, Height: 30})
	if len(d.waiting) > 1 {
		t.Errorf("a resize on the overview started %d commands", len(d.waiting))
	}
}

// ownSequences are what the screen itself says to the terminal.
var ownSequences = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// TestControlCharactersNeverReachTheTerminal has every text of a trace, its path
// and an error end in what a terminal obeys or hides.
func TestControlCharactersNeverReachTheTerminal(t *testing.T) {
	const hostile = "\x1b]0;owned\x07\x1b[2J\x7f\r\u0085\u009b31m\u061c\u202e\u2066\u0301\u200b\u200d\ufeff\u00ad\U000e0041\u2028\ue000\ufffe\xff.py"
	clean := func(what, text string) {
		t.Helper()
		text = ownSequences.ReplaceAllString(text, "")
		if at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }); at >= 0 {
			t.Errorf("%s has %q", what, text[at:min(at+40, len(text))])
		}
	}
	for name, tr := range map[string]*trace.Trace{"snapshot": tuitest.Small(), "recording": tuitest.Recording()} {
		evil := *tr
		tables := *tr.Tables
		tables.Strings = slices.Clone(tables.Strings)
		for i := range tables.Strings[1:] {
			tables.Strings[i+1] += hostile
		}
		evil.Tables, evil.Notices, evil.Steps = &tables, []string{hostile}, slices.Clone(tr.Steps)
		for i := range evil.Steps {
			step := &evil.Steps[i]
			step.Settings, step.Layers = slices.Clone(step.Settings), slices.Clone(step.Layers)
			for k := range step.Settings {
				step.Settings[k].Value += hostile
			}
			for k := range step.Layers {
				l := &step.Layers[k]
				l.Name, l.Class, l.OutputShape, l.DType = l.Name+hostile, l.Class+hostile, l.OutputShape+hostile, l.DType+hostile
			}
		}
		d := start(t, 120, 40, Options{Color: "never"}, fileOf(hostile, &evil), brokenFile(hostile, hostile))
		for i, page := range Pages() {
			for _, keys := range []string{"y", "enter", "y", "e", "down", "y", "t", "/", "esc", "?", "esc"} {
				d.press(strconv.Itoa(i+1), keys)
				clean(name+", page "+page+", "+keys, d.m.View().Content)
				clean(name+", the clipboard of "+page, d.copied)
			}
		}
		d.press("]")
		clean(name+", an error", d.m.View().Content)
		clean(name+", the window's title", d.m.View().WindowTitle)
	}
}

func TestEventsSortBySizeAndByLife(t *testing.T) {
	d := startSmall(t, 80, 24)
	d.shows("7 \\ alloc enter >", "largest first")
	size := func() int64 { return d.scene().Events().At(d.scene().Cursor()).Size }
	first := size()
	d.press("G")
	if last := size(); last >= first {
		t.Errorf("the first has %d bytes and the last %d", first, last)
	}
	d.press("I", "g")
	if got := size(); got >= first {
		t.Errorf("inverted, the first has %d bytes", got)
	}
	d.shows("I >", "longest lived first")
	d.shows("esc esc", "▌ 247 events")
}

// TestTheLineUnderTheAllocationsSaysWhatABandIs compares it with the list of what is
// alive, which is made in another way.
func TestTheLineUnderTheAllocationsSaysWhatABandIs(t *testing.T) {
	d := startSmall(t, 120, 40)
	d.shows("4 c", " a  4.0 MiB  train.py:88 main | held from before, never freed ")
	d.press("down", "down", "down", "down", "down", "down", "down", "down", "down", "down", "down", "down", "down")
	var band string
	for line := range strings.Lines(plain(d.screen())) {
		if strings.HasPrefix(line, "▸") {
			band = strings.Fields(line)[0]
		}
	}
	if band == "" || !strings.Contains(plain(d.screen()), " "+strings.TrimPrefix(band, "▸")+" ") {
		t.Errorf("no line says what band %q is:\n%s", band, plain(d.screen()))
	}
}

func TestStacksThatReadAlikeAreToldApartInEveryList(t *testing.T) {
	tr := tracetest.Parse(t, `memtop-trace 1
frame main "/home/me/train.py" 7 "main"
frame linear "/env/site-packages/torch/nn/modules/linear.py" 90 "forward"
frame adam "/env/site-packages/torch/optim/adam.py" 150 "_init_group"
stack one linear main
stack two adam main
device 0
alloc 0x1000000 1048576 @10 stack=one
alloc 0x1100000 1048576 @20 stack=two
alloc 0x1200000 1048576 @30 stack=two
segment 0x1000000 20971520 stream=0 type="large" pool=0,0
block 0x1000000 1048576 active_allocated requested=1048576 stack=one
block 0x1100000 1048576 active_allocated requested=1048576 stack=two
block 0x1200000 1048576 active_allocated requested=1048576 stack=two
block 0x1300000 17825792 inactive
oom - 33554432 stack=one
`)
	for what, keys := range map[string][]string{
		"alive": {"4", "$"}, "stacks of all bands": {"4", "$", "enter"}, "by allocation": {"4", "$", "c"},
		"blocks": {"5", "$", "enter"}, "holders when memory ran out": {"7", "$"}, "sites": {"3"}, "tensors": {"3", "t"},
	} {
		t.Run(what, func(t *testing.T) {
			d := start(t, 200, 60, Options{Color: "never"}, fileOf("run.pickle", tr))
			d.press(keys...)
			d.wants("train.py:7 main > linear.py:90 forward", "train.py:7 main > adam.py:150 _init_group")
			d.lacks("_init_group #2")
		})
	}
}

// TestHeldMemoryIsNotMadeWhereItWasFreed looks at a file in which memory from before
// recording is known only by the stack that freed it.
func TestHeldMemoryIsNotMadeWhereItWasFreed(t *testing.T) {
	tr := tracetest.Parse(t, `memtop-trace 1
frame f "train.py" 7 "drop"
frame g "train.py" 3 "make"
stack drop f
stack make g
device 0
alloc 0x2000 1024 @10 stack=make
free_requested 0x1000 4096 @20 stack=drop
free_completed 0x1000 4096 @20 stack=drop
free_requested 0x2000 1024 @30 stack=drop
free_completed 0x2000 1024 @30 stack=drop
`)
	for what, keys := range map[string][]string{
		"all that is alive": {"4", "^", "."}, "stacks of a band": {"4", "^", ".", "enter"}, "allocations": {"4", "^", ".", "enter", "enter"},
		"by allocation": {"4", "^", ".", "c"}, "blocks": {"5", "enter"}, "tensors": {"3"},
		"overview": {"1"}, "stacks": {"6"},
	} {
		d := start(t, 120, 40, Options{Color: "never"}, fileOf("run.pickle", tr))
		d.press(keys...)
		shown := plain(d.screen())
		for line := range strings.Lines(shown) {
			if strings.Contains(line, "train.py:7") && !strings.Contains(line, "freed at") && !strings.Contains(shown, "the stack is where it was freed") {
				t.Errorf("%s: the stack that freed memory stands for it:\n%s", what, plain(d.screen()))
			}
		}
	}
	d := start(t, 200, 60, Options{Color: "never"}, fileOf("run.pickle", tr))
	d.shows("4 ^ . enter", "held, freed at train.py:7 drop | train.py:3 make")
}

// TestEnterOnACategorySaysWhichRulesGaveIt goes backwards from the first finding: to
// the last of the categories that hold something, and on to the first.
func TestEnterOnACategorySaysWhichRulesGaveIt(t *testing.T) {
	d := startSmall(t, 120, 60)
	d.press("c") // away from where memory ran out
	d.press("N")
	for range 8 {
		if strings.Contains(plain(d.screen()), "▸parameter") {
			break
		}
		d.press("N")
	}
	d.shows("enter", "▸parameter | module moved or converted | !freed by backward")
	d.shows("enter", "!module moved or converted")
	d.press("N", "enter") // the last finding: to its page
	d.wants("At the cursor")
}
