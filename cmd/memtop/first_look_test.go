package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// torchJob is a running PyTorch program that nobody has looked at.
type torchJob struct {
	t   *testing.T
	pid string
}

// startTorch starts a program with the agent, and waits until it has made steps: it
// prints a line for each.
func startTorch(t *testing.T, environ []string, arguments ...string) torchJob {
	t.Helper()
	running := commandNamed(t, "memtop", append([]string{"run", "--"}, arguments...)...)
	running.Env = environ
	reader, err := running.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, running.Start())
	t.Cleanup(func() { _ = running.Process.Kill(); _ = running.Wait() })
	lines := bufio.NewReader(reader)
	for range 3 {
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatalf("the program has ended: %v", err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return torchJob{t, strconv.Itoa(running.Process.Pid)}
}

// cpuJob trains on the processor.
func cpuJob(t *testing.T) torchJob {
	t.Helper()
	python := torchPython(t)
	liveness(t)
	t.Setenv("OMP_NUM_THREADS", "1")
	example := filepath.Join("..", "..", "examples", "train.py")
	return startTorch(t, os.Environ(), python, example, "--layers", "3", "--width", "48", "--heads", "4", "--batch", "4", "--length", "64", "--steps", "1000000")
}

// cudaJob trains on the imitated GPU.
func cudaJob(t *testing.T) torchJob {
	t.Helper()
	python := anyCUDAPython(t)
	liveness(t)
	folder := filepath.Join(t.TempDir(), "imitation")
	if err := imitation.Install(folder); err != nil {
		t.Skipf("no GPU can be imitated: %v", err)
	}
	gpu, _ := imitation.Find("h100-80gb")
	environ := append(imitation.Environment(os.Environ(), folder), imitation.GPUVariable+"="+gpu.Variable(1, false), "OMP_NUM_THREADS=1")
	return startTorch(t, environ, python, "testdata/leaking.py")
}

// memtop runs a command as the only viewer, and returns what it printed.
func (j torchJob) memtop(arguments ...string) string {
	j.t.Helper()
	cmd := exec.CommandContext(j.t.Context(), "memtop", arguments...)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		j.t.Fatalf("memtop %s: %v: %s", strings.Join(arguments, " "), err, failed.String())
	}
	return string(out)
}

var torchJobs = map[string]func(*testing.T) torchJob{"processor": cpuJob, "imitated GPU": cudaJob}

// TestAFirstLookIsOneWholeStep asks jobs that nobody has watched. A job is watched
// by one command at a time, so each of them has a first look.
func TestAFirstLookIsOneWholeStep(t *testing.T) {
	for name, start := range torchJobs {
		t.Run(name, func(t *testing.T) {
			j := start(t)
			if out := j.memtop("advise", j.pid); !strings.Contains(out, "checkpoint=all") || strings.Contains(out, "peak allocated 0 B") {
				t.Errorf("the advice is\n%s", out)
			}
			j.checkState()
			j.checkRecording()
		})
	}
}

// checkState looks at what attach prints.
func (j torchJob) checkState() {
	t, live := j.t, report.Live{}
	fatal.If(t, json.Unmarshal([]byte(j.memtop("attach", j.pid, "--once", "--json")), &live))
	if live.Looking || len(live.Layers) == 0 || live.Categories == nil || live.PeakAllocatedBytes == nil || live.Highest == nil {
		t.Fatalf("looking %v, %d layers, categories %v, peak %v, highest %v", live.Looking, len(live.Layers), live.Categories, live.PeakAllocatedBytes, live.Highest)
	}
	now := live.BehindSteps != nil && *live.BehindSteps == 0 // else the measured step is an older one of a job that leaks
	if peak := *live.PeakAllocatedBytes; now && peak < *live.AllocatedBytes || peak > live.Highest.AllocatedBytes {
		t.Errorf("the step's peak is %d, the highest %d, and now %d is in use", peak, live.Highest.AllocatedBytes, *live.AllocatedBytes)
	}
	// Adam keeps two values for each parameter.
	if now := live.Categories.Bytes; now[trace.Optimizer] < 2*now[trace.Parameter] || now[trace.Parameter] == 0 {
		t.Errorf("%d of parameters and %d of optimizer state", now[trace.Parameter], now[trace.Optimizer])
	}
	for i := range live.Layers {
		if l := &live.Layers[i]; l.TransientPeakBytes != nil || l.Calls == 0 {
			t.Errorf("layer %q: temporary %v, %d calls", l.Name, l.TransientPeakBytes, l.Calls)
		}
	}
}

// checkRecording looks at what a recording of two steps has.
func (j torchJob) checkRecording() {
	path := filepath.Join(j.t.TempDir(), "first.mtr")
	j.memtop("record", j.pid, "-o", path, "--steps", "2")
	recorded, measured := j.open(path), 0
	for i := range recorded.Steps {
		if len(recorded.Steps[i].Categories) > 0 { // its peak may not be known
			measured++
		}
	}
	if events := recorded.Devices[0].Events.Len(); measured < 2 || events < 100 {
		j.t.Errorf("the recording has %d measured steps and %d events", measured, events)
	}
}

// TestASettingIsChangedAtFirstContact has set as the first command, and then
// snapshots of a job that nobody watches.
func TestASettingIsChangedAtFirstContact(t *testing.T) {
	for name, start := range torchJobs {
		t.Run(name, func(t *testing.T) {
			j := start(t)
			if out := j.memtop("set", j.pid, "checkpoint=all"); !strings.Contains(out, "checkpoint: off → all, from step ") || !strings.Contains(out, "predicted: peak allocated -") {
				t.Errorf("set says\n%s", out)
			}
			j.checkSnapshot()
			j.memtop("snapshot", j.pid, "--now", "-o", filepath.Join(t.TempDir(), "now.pickle"))
			if out := j.memtop("report", j.pid); !strings.Contains(out, "At the peak, by line") {
				t.Errorf("the report says\n%s", out)
			}
		})
	}
}

// checkSnapshot looks for a whole step and for notes in a snapshot.
func (j torchJob) checkSnapshot() {
	path := filepath.Join(j.t.TempDir(), "first.pickle")
	j.memtop("snapshot", j.pid, "-o", path)
	taken, layers := j.open(path), 0
	for i := range taken.Tables.Notes {
		if taken.Tables.Notes[i].Layer != 0 {
			layers++
		}
	}
	d := report.New(taken).Devices[0]
	if d.Events < 100 || len(d.LinesAtPeak) == 0 || layers == 0 {
		j.t.Errorf("the snapshot has %d events, the lines %v, and notes of %d layers", d.Events, d.LinesAtPeak, layers)
	}
}

// open reads a file.
func (j torchJob) open(path string) *trace.Trace {
	j.t.Helper()
	source, err := snapshots.Open(j.t.Context(), path, snapshots.Options{})
	fatal.If(j.t, err)
	j.t.Cleanup(func() { _ = source.Close() })
	return source.Trace()
}
