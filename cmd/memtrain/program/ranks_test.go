package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// ranked is what is read of a step of several processes.
type ranked struct {
	stepLine
	World         int
	Communication int64 `json:"communication_ns"`
	Waited        int64 `json:"communication_waited_ns"`
	Ranks         []struct {
		Rank, PID     int
		PeakAllocated int64 `json:"peak_allocated_bytes"`
	}
}

// longestRun ends processes that wait for each other for ever.
const longestRun = 3 * time.Minute

// mpirun returns memtrain in a number of processes, started by Open MPI. Without
// it the test is skipped.
func mpirun(t *testing.T, processes int, args ...string) *exec.Cmd {
	t.Helper()
	launcher, err := exec.LookPath("mpirun.openmpi")
	if err != nil {
		if launcher, err = exec.LookPath("mpirun"); err != nil {
			t.Skip("Open MPI is not installed: there is no mpirun")
		}
	}
	folder := t.TempDir()
	fatal.If(t, os.Symlink(os.Args[0], filepath.Join(folder, "memtrain")))
	line := append([]string{"-n", fmt.Sprint(processes), filepath.Join(folder, "memtrain"), "--probe", "off", "--json"}, args...)
	ctx, cancel := context.WithTimeout(t.Context(), longestRun)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, launcher, line...)
	c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1")
	return c
}

// steppedBy runs memtrain in a number of processes and returns the output of the
// first.
func steppedBy(t *testing.T, processes int, args ...string) []ranked {
	t.Helper()
	c := mpirun(t, processes, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return rankedSteps(t, out)
}

// rankedSteps reads what --json has printed.
func rankedSteps(t *testing.T, out []byte) []ranked {
	t.Helper()
	var steps []ranked
	for line := range bytes.Lines(out) {
		var s ranked
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		steps = append(steps, s)
	}
	return steps
}

func sameLosses(t *testing.T, want, got []ranked) {
	t.Helper()
	sameLossesWithin(t, 1e-5, want, got)
}

func sameLossesWithin(t *testing.T, limit float64, want, got []ranked) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d steps, want %d", len(got), len(want))
	}
	for i := range want {
		if d := math.Abs(want[i].Loss - got[i].Loss); !(d <= limit) || want[i].Step != got[i].Step {
			t.Errorf("step %d: the loss is %v, of one process %v", got[i].Step, got[i].Loss, want[i].Loss)
		}
	}
}

func TestProcessesOfALauncherTrainTogether(t *testing.T) {
	args := slices.Concat(small, []string{"--batch", "4", "--steps", "20"})
	alone := steppedBy(t, 1, args...)
	for _, n := range []int{2, 4} {
		together := steppedBy(t, n, args...)
		sameLosses(t, alone, together)
		last := together[len(together)-1]
		if last.World != n || len(last.Ranks) != n {
			t.Fatalf("%d processes are known as %+v", n, last)
		}
		if last.Communication <= 0 || last.Waited < 0 {
			t.Errorf("%d processes communicated for %d ns and waited for %d", n, last.Communication, last.Waited)
		}
		pids := make(map[int]bool)
		for _, r := range last.Ranks {
			pids[r.PID] = true
			if r.PeakAllocated != last.PeakAllocated {
				t.Errorf("rank %d had %d bytes at most, rank 0 %d", r.Rank, r.PeakAllocated, last.PeakAllocated)
			}
		}
		if len(pids) != n {
			t.Errorf("%d processes have the pids %v", n, pids)
		}
	}
}

func TestARunOfFourProcessesGoesOnInFewer(t *testing.T) {
	fatal.IfShort(t)
	args := slices.Concat(small, []string{"--batch", "4"})
	alone := steppedBy(t, 1, append(args, "--steps", "4")...)
	for shard, fewer := range map[train.Shard]int{train.ShardNothing: 1, train.ShardParameters: 2} {
		t.Run("shard="+shard.String(), func(t *testing.T) {
			saved := filepath.Join(t.TempDir(), "run.mem")
			sameLosses(t, alone[:2], steppedBy(t, 4, append(args, "--steps", "2", "--shard", shard.String(), "--save", saved)...))
			sameLosses(t, alone[2:], steppedBy(t, fewer, "--resume", saved, "--steps", "4"))
		})
	}
}

func TestProcessesEndWhenOneIsKilled(t *testing.T) {
	c := mpirun(t, 3, append(slices.Clone(small), "--batch", "3", "--steps", "0")...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, c.Start())
	lines := bufio.NewScanner(out)
	var step ranked
	for lines.Scan() {
		if err := json.Unmarshal(lines.Bytes(), &step); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		break //nolint:staticcheck // one step is enough
	}
	if len(step.Ranks) != 3 {
		t.Fatalf("it did not begin: %s", stderr.String())
	}
	fatal.If(t, syscall.Kill(step.Ranks[1].PID, syscall.SIGKILL))
	killed := time.Now()
	for lines.Scan() {
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) {
		t.Fatalf("it ended with %v", err)
	}
	t.Logf("all had ended after %v", time.Since(killed))
	if got := stderr.String(); !strings.Contains(got, "rank 1") {
		t.Errorf("standard error does not name the process: %q", got)
	}
}

// rankedRun is a run of several processes, and a viewer of each.
type rankedRun struct {
	command *exec.Cmd
	stderr  bytes.Buffer
	pids    []int
	viewers []*attach.Client
	read    chan struct{} // closed when standard output has ended
}

func startRanks(t *testing.T, processes int) *rankedRun {
	t.Helper()
	t.Setenv("MEMTOP_DIR", filepath.Join(t.TempDir(), "p"))
	r := &rankedRun{read: make(chan struct{})}
	r.command = mpirun(t, processes, append(slices.Clone(small), "--batch", fmt.Sprint(processes), "--steps", "0", "--probe", "on")...)
	r.command.Stderr = &r.stderr
	out, err := r.command.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, r.command.Start())
	lines := bufio.NewReader(out)
	var first ranked
	if err := json.NewDecoder(lines).Decode(&first); err != nil || len(first.Ranks) != processes {
		t.Fatalf("it did not begin: %v: %s", err, r.stderr.String())
	}
	go func() {
		_, _ = io.Copy(io.Discard, out)
		close(r.read)
	}()
	for i, rank := range first.Ranks {
		c, err := attach.Dial(t.Context(), fmt.Sprint(rank.PID), attach.DialOptions{})
		fatal.If(t, err)
		t.Cleanup(func() { _ = c.Close() })
		at, job := c.Trace().Live.Rank, trace.Rank{}
		if i > 0 {
			job = *r.viewers[0].Trace().Live.Rank
		}
		if at == nil || at.Rank != i || at.Local != i || at.World != processes || !at.Together || at.Job == "" || i > 0 && at.Job != job.Job {
			t.Errorf("rank %d is shown as %+v", i, at)
		}
		r.pids, r.viewers = append(r.pids, rank.PID), append(r.viewers, c)
	}
	return r
}

func (r *rankedRun) signal(t *testing.T, rank int, s syscall.Signal) {
	t.Helper()
	fatal.If(t, syscall.Kill(r.pids[rank], s))
}

// until waits for what a viewer sees of a rank to be so.
func (r *rankedRun) until(t *testing.T, rank int, seen func(*trace.Trace) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longestRun)
	defer cancel()
	c := r.viewers[rank]
	for !seen(c.Trace()) {
		select {
		case <-c.Changed():
		case <-ctx.Done():
			t.Fatalf("rank %d: %v", rank, ctx.Err())
		}
	}
}

// since returns the first step that a rank reports with a setting, 0 for none.
func since(list *trace.Trace, want trace.Value) int64 {
	for i := range list.Steps {
		if slices.Contains(list.Steps[i].Settings, want) {
			return list.Steps[i].Number
		}
	}
	return 0
}

// TestAStalledRankHoldsAChangeUp stops a process, changes a setting at another, and looks
// at what each reports of its steps.
func TestAStalledRankHoldsAChangeUp(t *testing.T) {
	r := startRanks(t, 3)
	want := trace.Value{Key: "checkpoint", Value: "block"}
	r.signal(t, 2, syscall.SIGSTOP)
	if made, err := r.viewers[1].Set(t.Context(), want.Key, want.Value); err != nil || made.State != trace.Pending {
		t.Fatalf("got %+v, error %v, want a change that no step has used", made, err)
	}
	const held = 500 * time.Millisecond // a hundred steps
	for rank, wait := 0, time.After(held); wait != nil; rank = 1 - rank {
		if step := since(r.viewers[rank].Trace(), want); step != 0 {
			t.Errorf("rank %d applied it in step %d, while rank 2 was stopped", rank, step)
		}
		select {
		case <-r.viewers[rank].Changed():
		case <-wait:
			wait = nil
		}
	}
	r.signal(t, 2, syscall.SIGCONT)
	first := make([]int64, len(r.viewers))
	for rank := range r.viewers {
		r.until(t, rank, func(now *trace.Trace) bool { first[rank] = since(now, want); return first[rank] != 0 })
	}
	if first[0] != first[1] || first[1] != first[2] {
		t.Errorf("the ranks applied it in the steps %v", first)
	}
	r.until(t, 1, func(now *trace.Trace) bool {
		i := slices.IndexFunc(now.Live.Changes, func(c trace.Change) bool { return c.Key == want.Key && c.State == trace.Applied })
		return i >= 0 && now.Live.Changes[i].Step == first[1]
	})
	t.Logf("applied in step %d by all", first[0])
	r.dies(t, 2)
}

// dies kills a process that is stopped, in between what a change takes.
func (r *rankedRun) dies(t *testing.T, rank int) {
	t.Helper()
	r.signal(t, rank, syscall.SIGSTOP)
	if made, err := r.viewers[1].Set(t.Context(), "checkpoint", "none"); err != nil || made.State != trace.Pending {
		t.Fatalf("got %+v, error %v, want a change that no step has used", made, err)
	}
	r.signal(t, rank, syscall.SIGKILL)
	killed := time.Now()
	<-r.read
	if err := r.command.Wait(); err == nil {
		t.Error("the launcher says that all went well")
	}
	t.Logf("all had ended after %v", time.Since(killed))
	if got := r.stderr.String(); !strings.Contains(got, fmt.Sprintf("rank %d", rank)) {
		t.Errorf("standard error does not name the process: %q", got)
	}
}
