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

func TestTwoFilesAreComparedFromEither(t *testing.T) {
	d := start(t, 100, 30, Options{Color: "never"}, twoRuns(t)...)
	d.press("6", "v")
	d.wants("By cause at the cursor: -2.5 KiB", "→ second.pickle", "of 6.0 KiB → 3.5 KiB",
		"   6.0 KiB    3.0 KiB    -3.0 KiB           2 → 2  half as large", "       0 B      512 B      +512 B           0 → 1  activation, only after",
		"Half as large: 2 allocations, 6.0 KiB before, 3.0 KiB after")
	for _, by := range []struct{ name, row string }{
		{"line", "   6.0 KiB    3.0 KiB    -3.0 KiB           2 → 2  model.py:20 forward"},
		{"function", "   6.0 KiB    3.5 KiB    -2.5 KiB           2 → 3  model.py forward"},
		{"file", "   6.0 KiB    3.5 KiB    -2.5 KiB           2 → 3  model.py"},
		{"module", "   6.0 KiB    3.5 KiB    -2.5 KiB           2 → 3  me"},
		{"category", "   6.0 KiB    3.5 KiB    -2.5 KiB           2 → 3  activation"},
		{"time of allocation", "   6.0 KiB    3.5 KiB    -2.5 KiB           2 → 3  while recording"},
	} {
		d.press("l")
		d.wants("By "+by.name+" at the cursor: -2.5 KiB", by.row)
	}
	d.press("]", "6", "v")
	d.wants("[2/2]", "By cause at the cursor: -2.5 KiB", "first.pickle → second.pickle")
	d.press("v")
	d.wants("Stacks at the cursor: 3.5 KiB in 3")
}

func TestBothSidesOfAFlameGraphHaveOneSelection(t *testing.T) {
	d := start(t, 100, 30, Options{Color: "never"}, twoRuns(t)...)
	d.press("6", "v", "t")
	d.wants("Flame graphs at the cursor: -2.5 KiB", "- all  6.0 KiB", "- all  3.5 KiB", "6.0 KiB in 2 → 3.5 KiB in 3, -2.5 KiB")
	d.press("down", "down", "down", "enter")
	d.wants("- model.py forward", "/me/model.py:20")
	d.press("esc", "esc", "esc", "esc", "esc")
	d.wants("Stacks at the cursor: 6.0 KiB in 2")
}

func TestOneFileIsComparedWithItsPeak(t *testing.T) {
	d := startSmall(t, 100, 30)
	d.press("6", "v")
	d.wants("By cause at the cursor: -16.0 MiB", "peak → cursor", "of 139.5 MiB → 123.5 MiB")
	d.press("c")
	d.wants("at the peak: 0 B", "no difference")
	d.press("c")
	d.wants("live at the end", "peak → end")
}

func TestAFileThatCannotBeComparedSaysWhy(t *testing.T) {
	d := start(t, 100, 30, Options{Color: "never"}, fileOf("run.pickle", tuitest.Small()), brokenFile("bad.pickle", "damaged at byte 1234"))
	d.press("6", "v")
	d.wants("bad.pickle: damaged at byte 1234")
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
	d.press("v")
	d.wants("reading other.pickle …")
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
