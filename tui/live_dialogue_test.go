package tui

import (
	"errors"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
)

func TestARecordingAnswers(t *testing.T) {
	tests := map[string]struct {
		w, h  int
		turns dialogue
	}{
		"tensors follow the cursor": {120, 40, dialogue{{"3 t", "133 tensors, "}, {"^", "8 tensors, 8.0 MiB"}, {"$", "133 tensors, "}}},
		"tensors by any column": {200, 60, dialogue{
			{"3 t >", "age▼"},
			{">", "category▼"},
			{">", "tensor▼"},
			{">", "shape▼"},
			{">", "dtype▼"},
			{">", "layer▼"},
			{">", "created at▼"},
			{">", "bytes▼"},
			{"< I", "created at▲"},
			{"t >", "bytes▼"},
			{">", "count▼"},
			{">", "per step▼"},
			{">", "oldest▼"},
			{">", "category▼"},
			{">", "created at▼"},
			{">", "verdict▼"},
		}},
		"a filter of sites": {120, 40, dialogue{
			{`3 \ optimizer enter`, "1 of 7 creation sites | filter “optimizer” | adam.go:61 | !linear.go:37"}, {"esc", "7 creation sites"},
		}},
		"sites that grow come first": {120, 40, dialogue{{"3", "because | per step"}, {"f", "only what grows or leaks | !linear.go:37"}}},
		"a change leads to its moment": {120, 40, dialogue{
			{"8 G enter", "Live memory by category"},
			{"esc", "4 changes, the newest first"},
			{"g enter", "this change has no event"},
			{"G enter 7", "  setting_changed"},
		}},
		"settings are not changed": {80, 24, dialogue{{"8 v enter", "this is a recording: nothing runs that could be changed"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			startRecording(t, test.w, test.h, Options{Color: "never"}).holds(nil, test.turns)
		})
	}
}

func TestAProcessAnswers(t *testing.T) {
	tests := map[string]struct {
		w, h, steps int
		before      func(*tuitest.Process)
		turns       dialogue
		asked       []string // of the program
	}{
		"the page moves with the program": {120, 40, 3, nil, dialogue{
			{"", "pid 4711 | step 3 | ckpt none | live"}, {"×2", "step 5"}, {"4 ×1 5 ×1 6 ×1 7 ×1", "step 9 | live"},
		}, nil},
		"the cursor goes back": {120, 40, 5, nil, dialogue{
			{"7 up", "back: $ follows"}, {"×2", "steps back"}, {"end", "live | step 7"}, {"up $ ×1", "step 8 | live"},
		}, nil},
		"a filter finds what comes": {120, 40, 3, nil, dialogue{
			{`7 \ step_end enter`, "Events matching “step_end”: 3 of"}, {"×2", "Events matching “step_end”: 5 of"},
		}, nil},
		"the peak of the last step": {120, 40, 9, nil, dialogue{
			{"", "Memory, now | What it is, at the peak of step 9 | Who holds most, at the peak of step 9"},
			{"×1", "at the peak of step 10"},
			{"c", "What it is, now | Who holds most, now"},
			{"c", "What it is, at the peak of step 10"},
			{"4 left 1", "Memory, at the cursor | What it is, at the cursor"},
		}, nil},
		"a tensor that is read grows older": {120, 40, 9, nil, dialogue{{"3 t enter", "at least 8 steps"}, {"×3", "at least 11 steps"}}, nil},
		"layers fold": {120, 40, 20, nil, dialogue{
			{"2", "▾ h.1 | · mlp"},
			{"down e", "▸ h.0"},
			{"×1", "▸ h.0 | Layers of step 21"},
			{"left left", "▸ model | !h.1"},
			{"right down enter", "▾ h.0 | ▾ h.1"},
			{"m", "h.0.mlp  MLP | keeps 2.7 MiB for the backward pass"},
		}, nil},
		"layers are sorted": {120, 40, 20, nil, dialogue{
			{"2 >", "class▼"}, {"> > > > >", "forward▼"}, {"I", "forward▲ | inverted"}, {"×1", "forward▲"}, {"esc", "!forward▲"},
		}, nil},
		"layers are filtered and searched": {120, 40, 20, nil, dialogue{
			{`2 \ h.2 enter`, "Layers of step 20 matching “h.2” | h.2 | mlp | !h.1"}, {"esc", "h.1"}, {"/ conv enter", "no layer matches conv"},
		}, nil},
		"checkpointing of a layer": {120, 40, 20, nil, dialogue{
			{"2 / h.1 enter C", "checkpoint none → layers=h.1"}, {"y / h.3.mlp enter C 1 C", "checkpoint"},
		}, []string{"checkpoint=layers=h.1", "checkpoint=layers=h.1+h.3.mlp", "checkpoint=none"}},
		"advice is used": {80, 24, 20, nil, dialogue{
			{"0 j enter", "This changes the running job from its next step on: | predicted peak -5.7 MiB"}, {"y", "pending"},
		}, []string{"checkpoint=every=2"}},
		"advice once a setting holds": {80, 24, 20, nil, dialogue{
			{"0", "checkpoint=block"}, {"C y ×2", "checkpoint=none | !checkpoint=block "},
		}, []string{"checkpoint=block"}},
		"a program without answers": {80, 24, 9, func(p *tuitest.Process) { p.Fail(errors.New("the process has ended")) }, dialogue{
			{"0", "The program could not be asked: the process has ended"},
		}, nil},
		"the first change is asked about": {120, 40, 9, nil, dialogue{
			{"C", "C changes the running job from its next step on: | checkpoint none → block | predicted peak -5.7 MiB | y yes | n no"},
			{"j C enter 4", "C changes the running job"},
			{"n", "!C changes the running job"},
			{"C esc C y A O", "!changes the running job"},
			{"S", "the program offers no choice of shard"}, // it is alone
		}, []string{"checkpoint=block", "amp=bf16", "optimizer=lion"}},
		"a refused change": {80, 24, 9, func(p *tuitest.Process) { p.Refuse("optimizer", "the state of adamw is not that of lion") }, dialogue{
			{"O y ×0", "optimizer adamw → lion · refused: the state of adamw is not that of lion"}, {"U", "nothing was changed yet"},
		}, []string{"optimizer=lion"}},
		"undo goes back through the changes": {80, 24, 9, nil, dialogue{
			{"U", "nothing was changed yet"}, {"C y A ×2 C ×1 U U ×1 U U", "nothing was changed yet"},
		}, []string{"checkpoint=block", "amp=bf16", "checkpoint=every=2", "checkpoint=block", "amp=off", "checkpoint=none"}},
		"no cache to be emptied": {80, 24, 9, nil, dialogue{{"F", "the program has no cache that could be emptied"}}, nil},
		"a value is chosen on the page of experiments": {80, 24, 9, nil, dialogue{
			{"8 enter", "checkpoint: choose | every=2 | another value …"},
			{"down down enter", "This changes the running job | checkpoint none → every=2"},
			{"y ×0", "checkpoint none → every=2, pending"},
			{"G k enter backspace backspace 9 enter ×0", "lr 0.0003 → 0.009"}, // lr has no choices
			{"g enter G enter x enter", ""},
		}, []string{"checkpoint=every=2", "lr=0.009", "checkpoint=x"}},
		"pages have their keys in help": {200, 60, 9, nil, dialogue{
			{"2 ?", "to the layer that keeps the most | suspend | quit"},
			{"esc 6 ?", "tree or flame graph"},
			{"esc 7 ?", "search action"},
			{"esc", "!suspend"},
			{"?", "The running program, from its next step on | checkpointing | undo the last change"},
		}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, p := startLive(t, test.w, test.h, test.steps)
			if test.before != nil {
				test.before(p)
			}
			d.holds(p, test.turns)
			wantsAsked(t, p, test.asked...)
		})
	}
}

func TestWhoLeavesIsAskedAboutWhatStaysChanged(t *testing.T) {
	const changed, undone = "checkpoint=block", "checkpoint=none"
	tests := map[string]struct {
		own    bool
		before func(d *driver, p *tuitest.Process)
		keys   []string
		asked  []string // of the program
		quits  bool
		left   string
		want   string // on the screen, if it stays
	}{
		"nothing was changed":         {keys: []string{"q"}, quits: true},
		"a change was undone":         {keys: []string{"C", "y", "U", "q"}, asked: []string{changed, undone}, quits: true},
		"a change was not agreed to":  {keys: []string{"C", "n", "q"}, quits: true},
		"a change stays: asked":       {keys: []string{"C", "y", "q"}, asked: []string{changed}, left: "checkpoint=block (was none)", want: "stays changed in process 4711:"},
		"undo and quit":               {keys: []string{"C", "y", "q", "u"}, asked: []string{changed, undone}, quits: true},
		"undo and quit from the help": {keys: []string{"C", "y", "?", "ctrl+c", "u"}, asked: []string{changed, undone}, quits: true},
		"leave it and quit":           {keys: []string{"C", "y", "q", "q"}, asked: []string{changed}, quits: true, left: "checkpoint=block (was none)"},
		"stay":                        {keys: []string{"C", "y", "q", "esc"}, asked: []string{changed}, left: "checkpoint=block (was none)", want: "checkpoint none → block"},
		"several changes of a setting and of another": {
			keys: []string{"C", "y", "C", "A", "q", "u"}, quits: true,
			asked: []string{changed, "checkpoint=every=2", "amp=bf16", undone, "amp=off"},
		},
		"the program refuses to undo": {
			before: func(_ *driver, p *tuitest.Process) { p.Refuse("checkpoint", "no block runs") },
			keys:   []string{"q", "u"}, asked: []string{changed, undone}, left: "checkpoint=block (was none)", want: "not undone: no block runs",
		},
		"undoing fails": {
			before: func(_ *driver, p *tuitest.Process) { p.Fail(errors.New("pid 12 is changing settings")) },
			keys:   []string{"q", "u"}, asked: []string{changed, undone}, left: "checkpoint=block (was none)", want: "not undone: pid 12 is changing settings",
		},
		"undoing takes a while": {
			before: func(d *driver, _ *tuitest.Process) { d.press("q"); d.hold = true },
			keys:   []string{"u", "u"}, asked: []string{changed}, left: "checkpoint=block (was none)", want: "undoing: waiting until it is accepted",
		},
		"the program has ended": {
			before: func(d *driver, p *tuitest.Process) { p.Lose("the process has ended"); d.news() },
			keys:   []string{"q"}, asked: []string{changed}, quits: true,
		},
		"the program was started again": {
			before: func(d *driver, p *tuitest.Process) { p.Restart(3); d.news() },
			keys:   []string{"q"}, asked: []string{changed}, quits: true,
		},
		"the program is a demonstration": {own: true, keys: []string{"C", "q"}, asked: []string{changed}, quits: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, p := startLiveWith(t, 80, 24, 9, Options{Color: "never", Device: -1, Own: test.own})
			if test.before != nil {
				d.press("C", "y")
				d.news()
				test.before(d, p)
			}
			d.press(test.keys...)
			wantsAsked(t, p, test.asked...)
			if d.quit != test.quits || d.m.Left() != test.left {
				t.Errorf("quits: %v, left: %q, want %v and %q", d.quit, d.m.Left(), test.quits, test.left)
			}
			if !d.quit {
				d.wants(test.want)
			}
		})
	}
}

// TestWhatStaysChangedInAJobIsOneForAllRanks changes a setting in one rank, and back in
// another.
func TestWhatStaysChangedInAJobIsOneForAllRanks(t *testing.T) {
	d, job, processes := startJob(t, 80, 24, 4, Options{Color: "never"})
	for i, p := range processes {
		r := job.Rows()[i].Rank
		r.Together = false
		p.Join(r)
	}
	d.news()
	d.shows("enter C y q", "stays changed in all 4 ranks | checkpoint=block (was none)")
	d.press("esc", "]")
	d.news()
	d.press("U", "q")
	if !d.quit {
		t.Errorf("it asks although the change was undone in another rank:\n%s", plain(d.screen()))
	}
}

func TestScreensOfLeaving(t *testing.T) {
	for name, size := range map[string][2]int{"80x24": {80, 24}, "200x60": {200, 60}} {
		d, _ := startLive(t, size[0], size[1], 20)
		d.press("C", "y", "A", "q")
		golden(t, name, d.screen())
	}
}

func TestAProgramWithoutNamesOfLayersSaysSo(t *testing.T) {
	p := tuitest.NewProcess(20)
	d := start(t, 120, 40, Options{Color: "never", Device: -1, Own: true}, processFile(p))
	for i := range p.Trace().Live.Options {
		p.Trace().Live.Options[i].Free = false
	}
	d.shows("2 down C", "the program takes no layers by name: C on another page changes checkpoint of all")
	wantsAsked(t, p)
}
