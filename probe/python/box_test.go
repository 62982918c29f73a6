package python_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/blackbox"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestTheBoxOfAPythonProgramOutlivesIt kills tests/pretended.py while a viewer watches it,
// and reads the box as ls --dead does.
func TestTheBoxOfAPythonProgramOutlivesIt(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "boxes")
	program, command, _ := started(t, protocol.BlackBoxVariable+"="+folder)
	c, err := attach.Dial(t.Context(), program.path, attach.DialOptions{})
	fatal.If(t, err)
	defer func() { _ = c.Close() }()
	path := filepath.Join(folder, strings.TrimSuffix(filepath.Base(program.path), ".sock")+".box")
	const steps = 5
	program.run(t, steps)
	limit, tick := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for step := int64(0); step < steps; {
		select {
		case <-tick.C:
			if last := readBox(t, path).LastStep(0); last != nil {
				step = last.Number
			}
		case <-limit:
			t.Fatalf("not in a minute: a box with step %d; it has %d", steps, step)
		}
	}
	fatal.If(t, command.Process.Kill())
	_ = command.Wait() // it was killed
	await(t, c, "the end", func(now *trace.Trace) bool { return !now.Live.Connected })
	boxes, err := protocol.Boxes(folder, "")
	if err != nil || len(boxes) != 1 || boxes[0].Problem != nil {
		t.Fatalf("when it has ended: %+v, %v", boxes, err)
	}
	tr := readBox(t, path)
	d := attach.OfBox(tr, boxes[0], tr.Live.Ended.Devices[0])
	const held = parameters * parameterBytes
	if d.PID != command.Process.Pid || d.Step != steps || d.Ended != "killed or crashed" || d.Allocated == nil || *d.Allocated != held || *d.Reserved != held {
		t.Errorf("ls --dead shows %+v, want %d bytes", d, held)
	}
	if len(tr.Notices) > 0 {
		t.Errorf("notices %q", tr.Notices)
	}
}

func readBox(t *testing.T, path string) *trace.Trace {
	t.Helper()
	data := fatal.Read(t, path)
	tr, err := blackbox.Read(t.Context(), bytes.NewReader(data), blackbox.Options{})
	fatal.If(t, err)
	return tr
}
