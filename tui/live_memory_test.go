package tui

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/memtop/memtop/cmd/testing/tuitest"

	tea "charm.land/bubbletea/v2"
)

// TestWhatWasLetGoIsNotHeld looks at every page of a program whose old events are
// let go in between, with a filter, a search and a change that was measured: no
// page, seen or hidden, may hold what it showed before.
func TestWhatWasLetGoIsNotHeld(t *testing.T) {
	p := tuitest.NewProcess(24)
	d := start(t, 120, 40, Options{Color: "never", Device: -1}, processFile(p))
	d.news()
	d.press("C", "y")
	d.train(p, 12)
	d.wants("checkpoint none → block")
	for _, keys := range [][]string{
		{"1"}, {"2"}, {"3", "t", "enter"}, {"4", "enter", "enter"}, {"5", "enter"}, {"6"}, {"7", "\\", "a", "enter", "/", "f", "enter"}, {"8"}, {"$", "1"},
	} {
		d.press(keys...)
	}
	index := weak.Make(d.m.file().current().scene.Index)
	p.Forget(100)
	d.train(p, 1)
	for range 3 { // what is weak and has a cleanup goes in turns
		runtime.GC()
	}
	if index.Value() != nil {
		t.Error("the index of before is held")
	}
	d.shows("2 3 4 5 6 7 8 1", "live")
}

// pagesWithCursors are the keys that lead to a place on each page.
var pagesWithCursors = map[string][]string{
	"overview": {"1"}, "layers": {"2", "down"}, "sites": {"3", "down"}, "tensors": {"3", "t", "down"}, "a tensor": {"3", "t", "down", "enter"},
	"timeline": {"4"}, "an allocation": {"4", "enter", "down", "enter", "down", "enter", "v", "down"}, "segments": {"5", "down"},
	"blocks": {"5", "down", "enter", "down"}, "stacks": {"6", "down"}, "flames": {"6", "f", "down"}, "lines": {"6", "l", "down"}, "events": {"7", "up"}, "experiments": {"8"},
}

// TestTheScreenStandsStill lets old events go on every page and draws after every
// message: until the page has its answers the last frame stays and keys wait.
func TestTheScreenStandsStill(t *testing.T) {
	for name, keys := range pagesWithCursors {
		t.Run(name, func(t *testing.T) {
			d, p := startLive(t, 120, 40, 20)
			d.press("C", "y")
			d.train(p, 3)
			d.press(keys...)
			before := d.screen()
			p.Forget(d.scene().Steps[4].From)
			d.hold = true
			d.news()
			stood := 0
			for len(d.waiting) > 0 {
				cmd := d.waiting[0]
				d.waiting = d.waiting[1:]
				switch msg := cmd().(type) {
				case nil:
				case tea.BatchMsg:
					d.waiting = append(d.waiting, msg...)
				case replacedMsg:
					d.send(msg)
					d.press("?")
				default:
					d.send(msg)
				}
				if d.m.still.frame != "" {
					stood++
					if got := d.screen(); got != before {
						t.Fatalf("a frame in between:\n%s", plain(got))
					}
				}
				d.screen()
			}
			d.hold = false
			if d.m.still.frame != "" || stood == 0 && name != "events" {
				t.Errorf("it stood still for %d messages, and now %v", stood, d.m.still.frame != "")
			}
			if d.m.help == nil {
				t.Error("a key that waited was lost")
			}
			d.press("esc")
			if after := strings.Count(plain(d.screen()), "\n"); after != strings.Count(before, "\n") {
				t.Errorf("%d lines", after)
			}
		})
	}
}

// loop runs a model as a program does: messages one after the other, commands
// beside them.
type loop struct {
	model    *Model
	messages chan tea.Msg // closed by nobody
	ctx      context.Context
}

func (l *loop) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				l.run(c)
			}
		default:
			select {
			case l.messages <- msg:
			case <-l.ctx.Done():
			}
		}
	}()
}

func (l *loop) send(msg tea.Msg) {
	_, cmd := l.model.Update(msg)
	l.run(cmd)
}

// TestAScreenAndAProcessDoNotRace turns pages while a process trains, with every
// question on a goroutine of its own. It is for the race detector.
func TestAScreenAndAProcessDoNotRace(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	p := tuitest.NewProcess(5)
	l := &loop{New([]File{processFile(p)}, Options{Color: "never", Device: -1}), make(chan tea.Msg), ctx}
	l.run(l.model.Init())
	l.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	trained := make(chan struct{})
	go func() {
		defer close(trained)
		for k := range 120 {
			p.Train(1)
			if k%40 == 20 {
				p.Forget(200)
			}
		}
		p.Lose("the process has ended")
	}()
	keys := []string{"1", "2", "3", "4", "+", "left", "5", "6", "7", "up", "8", "space", "space", "$"}
	for n := 0; ; n++ {
		select {
		case msg := <-l.messages:
			l.send(msg)
		case <-ctx.Done():
			t.Fatalf("the last step was never shown:\n%s", plain(l.model.View().Content))
		}
		l.send(keyPress(keys[n%len(keys)]))
		shown := plain(l.model.View().Content)
		if strings.Contains(shown, "step 125") && strings.Contains(shown, "the process has ended") {
			break
		}
		select {
		case <-trained: // nothing more will come by itself
			l.send(keyPress("$"))
		default:
		}
	}
	<-trained
}

// TestHiddenPagesAreDrawnWithoutAnswers lets old events go while another page is
// shown, and draws each before it has its answers again.
func TestHiddenPagesAreDrawnWithoutAnswers(t *testing.T) {
	for name, keys := range pagesWithCursors {
		t.Run(name, func(t *testing.T) {
			d, p := startLive(t, 120, 40, 20)
			d.press("C", "y")
			d.train(p, 3)
			d.press(keys...)
			shown := keys[0]
			d.press(map[bool]string{true: "2", false: "1"}[shown == "1"])
			p.Forget(d.scene().Steps[4].From)
			d.news()
			d.hold = true
			d.press(shown)
			d.screen()
			for _, key := range []string{"down", "up", "enter", "y", "G", "pgup"} {
				d.press(key)
				d.screen()
			}
		})
	}
}
