package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

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
