package python_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/blackbox"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestABoxThatPythonWroteIsRead kills tests/pretended.py while its box follows it, and reads
// the box as ls --dead does.
func TestABoxThatPythonWroteIsRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("boxes are written on Linux")
	}
	const newEnough = "import sys; sys.exit(sys.version_info < (3, 9))"
	if err := exec.CommandContext(t.Context(), "python3", "-c", newEnough).Run(); err != nil {
		t.Skipf("there is no python3 of 3.9 or later: %v", err)
	}
	folder := filepath.Join(t.TempDir(), "boxes")
	command := exec.CommandContext(t.Context(), "python3", "-B", filepath.Join("tests", "pretended.py"), "box")
	command.Env = append(os.Environ(), "MEMTOP_DIR="+filepath.Join(t.TempDir(), "memtop"), protocol.BlackBoxVariable+"="+folder)
	lines, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	path, err := bufio.NewReader(out).ReadString('\n')
	if path = strings.TrimSpace(path); err != nil || filepath.Dir(path) != folder {
		t.Fatalf("the program's box is %q: %v", path, err)
	}
	const steps = 5
	if _, err := io.WriteString(lines, strings.Repeat("\n", steps)); err != nil {
		t.Fatal(err)
	}
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
	boxes, err := protocol.Boxes(folder, "")
	if err != nil || len(boxes) != 1 || !boxes[0].Held || boxes[0].Problem != nil {
		t.Fatalf("while it runs: %+v, %v", boxes, err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // it was killed
	if boxes, err = protocol.Boxes(folder, ""); err != nil || len(boxes) != 1 || boxes[0].Held {
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
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := blackbox.Read(t.Context(), bytes.NewReader(data), blackbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
