package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestTheExampleTrainsAndIsSeen runs the program with a viewer that waits until it
// has changed a setting, and interrupts it.
func TestTheExampleTrainsAndIsSeen(t *testing.T) {
	t.Setenv("MEMTOP_DIR", filepath.Join(t.TempDir(), "probe"))
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, 1<<40) }()
	step, err := look(t, ended)
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
}

// look attaches to the program, changes a setting and returns a step that has it.
func look(t *testing.T, ended <-chan error) (*trace.Step, error) {
	t.Helper()
	var viewer *attach.Client
	for viewer == nil {
		c, err := attach.Dial(t.Context(), strconv.Itoa(os.Getpid()), attach.DialOptions{})
		if err == nil {
			viewer = c
		}
		select {
		case err := <-ended:
			return nil, errors.Join(errors.New("the program ended"), err)
		default:
		}
	}
	defer func() { _ = viewer.Close() }() // it was only looked at
	if _, err := viewer.Set(t.Context(), "lr", "0.001"); err != nil {
		return nil, err
	}
	for {
		for _, s := range viewer.Trace().Steps {
			if len(s.Layers) > 0 && slices.Contains(s.Settings, trace.Value{Key: "lr", Value: "0.001"}) {
				return &s, nil
			}
		}
		select {
		case <-viewer.Changed():
		case <-t.Context().Done():
			return nil, t.Context().Err()
		}
	}
}

func TestMain(m *testing.M) {
	probetest.WithoutBoxes()
	os.Exit(m.Run())
}
