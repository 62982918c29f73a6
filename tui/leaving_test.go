package tui

import (
	"errors"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
)

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
