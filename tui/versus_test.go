package tui

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"
)

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
