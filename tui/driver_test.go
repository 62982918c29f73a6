package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"
)

// given is a source that is there already.
type given struct{ trace *trace.Trace }

func (g given) Trace() *trace.Trace { return g.trace }
func (g given) Close() error        { return nil }

// fileOf returns a file that loads t.
func fileOf(name string, t *trace.Trace) File {
	return File{Name: name, Load: func(context.Context, trace.Progress) (trace.Source, error) { return given{t}, nil }}
}

// brokenFile returns a file that cannot be loaded.
func brokenFile(name, reason string) File {
	return File{Name: name, Load: func(context.Context, trace.Progress) (trace.Source, error) { return nil, errors.New(reason) }}
}

// driver is a terminal that runs commands at once, on the test's goroutine, so
// that no test waits for anything.
type driver struct {
	t       testing.TB
	m       *Model
	quit    bool
	waiting []tea.Cmd // held back by hold
	hold    bool
	copied  string
}

// start opens files on a screen of w×h and runs everything that this begins.
func start(t testing.TB, w, h int, o Options, files ...File) *driver {
	t.Helper()
	d := &driver{t: t, m: New(files, o)}
	d.m.tick = func(*file) tea.Cmd { return nil }
	d.m.later = func(cmd tea.Cmd) tea.Cmd { return cmd }
	d.m.job.hear = func(Ranks) tea.Cmd { return nil }
	d.m.control.look = func() tea.Cmd { return nil }
	for _, f := range d.m.files {
		f.listen = func(*file, trace.Growing) tea.Cmd { return nil }
	}
	d.m.now = func() time.Time { return time.Unix(1_752_000_000, 0) }
	d.run(d.m.Init())
	d.send(tea.WindowSizeMsg{Width: w, Height: h})
	return d
}

// processFile returns a file that shows a process.
func processFile(p *tuitest.Process) File {
	return File{Name: "4711", Live: true, Load: func(context.Context, trace.Progress) (trace.Source, error) { return p, nil }}
}

// news tells the model what its process has to tell, as the command that waits
// for it would.
func (d *driver) news() {
	d.t.Helper()
	f := d.m.file()
	select {
	case _, more := <-f.source.(trace.Growing).Changed():
		f.growth.took = time.Time{} // it is time for more, whatever the page's pace
		d.send(changedMsg{f, f.attempt, more})
	default:
	}
}

func (d *driver) send(msg tea.Msg) {
	_, cmd := d.m.Update(msg)
	d.run(cmd)
}

// run runs a command and whatever its message leads to.
func (d *driver) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if d.hold {
		d.waiting = append(d.waiting, cmd)
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
	case tea.QuitMsg, tea.InterruptMsg:
		d.quit = true
	default:
		d.take(msg)
	}
}

// take gives the model its own messages. The clipboard's is Bubble Tea's and
// has no name outside of it, but it is a string.
func (d *driver) take(msg tea.Msg) {
	if s, ok := clipboard(msg); ok {
		d.copied = s
		return
	}
	d.send(msg)
}

// press types keys, which a space may separate: names like "enter", single characters,
// and other words, which are typed character by character.
func (d *driver) press(keys ...string) {
	d.t.Helper()
	for name := range strings.FieldsSeq(strings.Join(keys, " ")) {
		if _, named := namedKeys[name]; named {
			d.send(keyPress(name))
		} else {
			d.typed(name)
		}
	}
}

// typed types text character by character.
func (d *driver) typed(text string) {
	for _, r := range text {
		d.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

var namedKeys = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab},
	"shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown},
	"home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "space": {Code: tea.KeySpace, Text: " "},
	"backspace": {Code: tea.KeyBackspace}, "shift+left": {Code: tea.KeyLeft, Mod: tea.ModShift}, "shift+right": {Code: tea.KeyRight, Mod: tea.ModShift},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+z": {Code: 'z', Mod: tea.ModCtrl}, "ctrl+l": {Code: 'l', Mod: tea.ModCtrl},
	"ctrl+f": {Code: 'f', Mod: tea.ModCtrl}, "ctrl+b": {Code: 'b', Mod: tea.ModCtrl},
}

func keyPress(name string) tea.KeyPressMsg {
	if k, ok := namedKeys[name]; ok {
		return k
	}
	r := []rune(name)
	return tea.KeyPressMsg{Code: r[0], Text: name}
}

// screen returns what is shown.
func (d *driver) screen() string { return d.m.View().Content }

// wants fails the test unless the screen has all of the texts.
func (d *driver) wants(texts ...string) {
	d.t.Helper()
	shown := plain(d.screen())
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			d.t.Errorf("the screen lacks %q:\n%s", text, shown)
		}
	}
}

// lacks fails the test if the screen has the text.
func (d *driver) lacks(text string) {
	d.t.Helper()
	if shown := plain(d.screen()); strings.Contains(shown, text) {
		d.t.Errorf("the screen has %q:\n%s", text, shown)
	}
}
