package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/killtest"
	"github.com/memtop/memtop/engine/train"
)

// TestKillingARunWhileItSavesLosesNothing kills memtrain, which saves itself after
// every step, at random moments. What was saved last is whole, the next run goes
// on with it to the losses of a run that nobody killed, and nothing else is left.
func TestKillingARunWhileItSavesLosesNothing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "run.mem")
	t.Setenv("MEMTOP_DIR", filepath.Join(t.TempDir(), "probes"))
	arguments := []string{"--json", "--steps", "0", "--save", path, "--save-every", "1"}
	sizes := []string{"--layers", "2", "--dim", "192", "--heads", "2", "--seq", "8", "--batch", "1"}
	model := sizes
	var moments killtest.Moments
	var last int64
	var left killtest.Leftovers
	for range killtest.Times(t) {
		seen := killTraining(t, &moments, folder, append(arguments, model...), left)
		model = []string{"--resume", path}
		saved, err := train.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		saved.Close()
		last = saved.Step()
		if saved.Step() < seen-1 {
			t.Errorf("step %d began and step %d was saved last", seen+1, saved.Step())
		}
		left = moments.Look(t, folder, "run.mem")
	}
	t.Log(moments)
	steps := strconv.FormatInt(last+1, 10)
	want := lastLoss(t, append([]string{"--json", "--steps", steps}, sizes...)...)
	if got := lastLoss(t, "--json", "--steps", steps, "--resume", path); got != want {
		t.Errorf("step %s after all that has the loss %v, want %v", steps, got, want)
	}
}

// lastLoss runs memtrain and returns the loss of its last step.
func lastLoss(t *testing.T, arguments ...string) float64 {
	t.Helper()
	var out bytes.Buffer
	if code := Run(arguments, &out, os.Stderr, testReach()); code != 0 {
		t.Fatalf("memtrain %v: code %d", arguments, code)
	}
	var step object
	for lines := json.NewDecoder(&out); lines.More(); {
		if err := lines.Decode(&step); err != nil {
			t.Fatal(err)
		}
	}
	if step.Loss == nil {
		t.Fatalf("memtrain %v: no loss", arguments)
	}
	return *step.Loss
}

// killTraining kills a run after its second step, and returns the last step that
// it reported. A step is reported before the run is saved.
func killTraining(t *testing.T, moments *killtest.Moments, folder string, arguments []string, left killtest.Leftovers) (seen int64) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, arguments...)
	c.Args[0], c.Stderr = "memtrain", os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(bufio.NewReader(out))
	var step object
	var began time.Time
	for range 2 {
		began = time.Now()
		if err := lines.Decode(&step); err != nil {
			t.Fatal(err)
		}
	}
	left.WantGone(t)
	moments.Strike(t, c.Process, folder, 2*time.Since(began))
	for {
		seen = step.Step
		if err := lines.Decode(&step); err != nil { // the last line may be half of one
			break
		}
	}
	_, _ = io.Copy(io.Discard, out)
	_ = c.Wait() // it was killed
	return seen
}
