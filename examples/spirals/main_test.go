package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestTheExampleTrainsAndIsSeen runs the program with a viewer that waits until it
// has changed a setting, and interrupts it.
func TestTheExampleTrainsAndIsSeen(t *testing.T) {
	t.Setenv("MEMTOP_DIR", filepath.Join(t.TempDir(), "probe"))
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, 1<<40) }()
	seen, step, err := look(t, ended)
	interrupt()
	if failed := <-ended; failed != nil || err != nil {
		t.Fatal(errors.Join(failed, err))
	}
	layers := map[string]string{}
	for _, l := range step.Layers {
		layers[l.Name] = l.Class
	}
	for name, class := range map[string]string{"in": "Linear", "hidden": "Linear", "out": "Linear", "loss": "Function"} {
		if layers[name] != class {
			t.Errorf("layer %q is of class %q, want %q", name, layers[name], class)
		}
	}
	checkLines(t, seen)
}

// checkLines wants all memory to be from lines of this program, and no stack to begin
// with what every allocation goes through.
func checkLines(t *testing.T, seen *trace.Trace) {
	t.Helper()
	code := new(lines.Code)
	code.Read(seen.Tables)
	blocks := 0
	for _, s := range seen.Devices[0].Final.Segments {
		for _, b := range s.Blocks {
			stack := seen.Tables.Stack(b.Stack)
			if b.State != trace.Allocated || len(stack) == 0 {
				continue
			}
			blocks++
			if line := code.FrameLabel(code.Line(b.Stack)); !strings.HasPrefix(line, "main.go:") {
				t.Errorf("%d bytes are from %s, want a line of main.go", b.Size, line)
			}
			if first := seen.Tables.FrameName(stack[0]); strings.Contains(first, "engine/tensor.") || strings.Contains(first, "engine/autograd.") {
				t.Errorf("a stack begins with %s", first)
			}
		}
	}
	if blocks == 0 {
		t.Error("no block has a stack")
	}
}

// look attaches to the program, changes a setting and returns a step that has it.
func look(t *testing.T, ended <-chan error) (*trace.Trace, *trace.Step, error) {
	t.Helper()
	var viewer *attach.Client
	for viewer == nil {
		c, err := attach.Dial(t.Context(), strconv.Itoa(os.Getpid()), attach.DialOptions{})
		if err == nil {
			viewer = c
		}
		select {
		case err := <-ended:
			return nil, nil, errors.Join(errors.New("the program ended"), err)
		default:
		}
	}
	defer func() { _ = viewer.Close() }() // it was only looked at
	if _, err := viewer.Set(t.Context(), "lr", "0.001"); err != nil {
		return nil, nil, err
	}
	for {
		seen := viewer.Trace()
		for _, s := range seen.Steps {
			if len(s.Layers) > 0 && slices.Contains(s.Settings, trace.Value{Key: "lr", Value: "0.001"}) {
				return seen, &s, nil
			}
		}
		select {
		case <-viewer.Changed():
		case <-t.Context().Done():
			return nil, nil, t.Context().Err()
		}
	}
}

func TestMain(m *testing.M) {
	probetest.WithoutBoxes()
	os.Exit(m.Run())
}
