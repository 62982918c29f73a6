package python_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/conformance"
	"github.com/memtop/memtop/probe/sensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// program is tests/pretended.py: the agent's link with a program that makes a step for
// each line it is sent.
type program struct {
	path  string // of its socket or its box
	lines io.WriteCloser
}

// The program's parameters, which stay.
const (
	parameters     = 12
	parameterBytes = 65536
)

func pretended(t *testing.T) *program {
	t.Helper()
	p, command, problems := started(t)
	t.Cleanup(func() {
		_ = p.lines.Close() // which ends the program
		if err := command.Wait(); err != nil && t.Context().Err() == nil || problems.Len() > 0 {
			t.Errorf("the program ended with %v and said:\n%s", err, problems)
		}
	})
	return p
}

// started starts tests/pretended.py with a host, and returns it with what it writes to
// standard error. It says a path first.
func started(t *testing.T, environ ...string) (*program, *exec.Cmd, *bytes.Buffer) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the agent keeps its files, and asks who is at the other end, as Linux does it")
	}
	const newEnough = "import sys; sys.exit(sys.version_info < (3, 9))"
	if err := exec.CommandContext(t.Context(), "python3", "-c", newEnough).Run(); err != nil {
		t.Skipf("there is no python3 of 3.9 or later: %v", err)
	}
	folder := filepath.Join(t.TempDir(), "memtop")
	host, err := sensor.Listen(folder, slog.New(slog.DiscardHandler))
	fatal.If(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { _ = host.Serve(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	command := exec.CommandContext(t.Context(), "python3", "-B", filepath.Join("tests", "pretended.py"), host.Path())
	command.Env = append(append(os.Environ(), "MEMTOP_DIR="+folder), environ...)
	var problems bytes.Buffer
	command.Stderr = &problems
	lines, err := command.StdinPipe()
	fatal.If(t, err)
	out, err := command.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, command.Start())
	path, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the program did not say its path: %v\n%s", err, &problems)
	}
	return &program{strings.TrimSpace(path), lines}, command, &problems
}

func (p *program) run(t *testing.T, steps int) {
	t.Helper()
	if _, err := io.WriteString(p.lines, strings.Repeat("\n", steps)); err != nil {
		t.Fatal(err)
	}
}

// runs has the program make steps until the test ends.
func (p *program) runs(t *testing.T) {
	t.Helper()
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-stopped })
	go func() {
		defer close(stopped)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = io.WriteString(p.lines, "\n") // the end of the program fails the test elsewhere
			case <-stop:
				return
			}
		}
	}()
}

// await returns a client's trace when it satisfies ok.
func await(t *testing.T, c *attach.Client, what string, ok func(*trace.Trace) bool) *trace.Trace {
	t.Helper()
	limit := time.After(5 * time.Minute) // only to say what did not come
	for {
		if now := c.Trace(); ok(now) {
			return now
		}
		select {
		case <-c.Changed():
		case <-limit:
			t.Fatalf("not in five minutes: %s; it says %q", what, c.Trace().Live.Note)
		}
	}
}

func TestAViewerFollowsAPythonProgram(t *testing.T) {
	t.Parallel()
	p := pretended(t)
	c, err := attach.Dial(t.Context(), p.path, attach.DialOptions{})
	fatal.If(t, err)
	defer func() { _ = c.Close() }()
	first := c.Trace()
	checkParameters(t, first)
	if s := first.Settings; len(s) != 1 || s[0].Key != "allocator" || s[0].Value != "none" {
		t.Errorf("the allocator's settings are %+v", s)
	}
	p.run(t, 5)
	got := await(t, c, "five steps", func(now *trace.Trace) bool { return len(now.Steps) == 5 })
	if n := got.Devices[0].Events.Len(); n != 5*402 {
		t.Errorf("five steps have %d events, want 402 each", n)
	}
	if len(got.Notices) > 0 || len(got.Live.Gaps) > 0 {
		t.Errorf("it does not fit: %v, %v", got.Notices, got.Live.Gaps)
	}
	checkParameters(t, got)
	if last := got.Steps[4]; last.Number != 5 || len(last.Layers) != parameters && len(got.Steps[0].Layers) != parameters {
		t.Errorf("the last step is %+v", last)
	}
	if made, err := c.Set(t.Context(), "amp", "bf16"); err != nil || made.State != trace.Pending {
		t.Fatalf("a change: %+v, %v", made, err)
	}
	p.run(t, 1)
	await(t, c, "the change to be applied", func(now *trace.Trace) bool {
		return len(now.Live.Changes) == 1 && now.Live.Changes[0].State == trace.Applied && now.Live.Changes[0].Step == 6
	})
}

func TestAPythonProgramWritesItsMemory(t *testing.T) {
	t.Parallel()
	p := pretended(t)
	c, err := attach.Dial(t.Context(), p.path, attach.DialOptions{})
	fatal.If(t, err)
	defer func() { _ = c.Close() }()
	p.run(t, 2)
	await(t, c, "two steps", func(now *trace.Trace) bool { return len(now.Steps) == 2 })
	got, err := attach.Here.Snapshot(t.Context(), p.path, io.Discard, attach.SnapshotOptions{})
	fatal.If(t, err)
	checkParameters(t, got)
	if len(got.Notices) > 0 {
		t.Errorf("it does not fit: %v", got.Notices)
	}
}

// checkParameters reports memory that is not one allocation for each parameter.
func checkParameters(t *testing.T, got *trace.Trace) {
	t.Helper()
	segments := got.Devices[0].Final.Segments
	if len(segments) != parameters {
		t.Fatalf("there are %d segments, want one for each of %d parameters", len(segments), parameters)
	}
	for _, s := range segments {
		if len(s.Blocks) != 1 || s.Blocks[0].Size != parameterBytes || s.Allocated != parameterBytes {
			t.Errorf("a segment is %+v, want a parameter of %d bytes", s, parameterBytes)
			continue
		}
		note := got.Tables.Notes[s.Blocks[0].Note]
		if name := got.Tables.Strings[note.Category]; name != "parameter" {
			t.Errorf("it is of category %q", name)
		}
	}
}

func TestTheAgentsServerKeepsThePage(t *testing.T) {
	t.Parallel()
	p := pretended(t)
	p.runs(t)
	r, err := conformance.Examine(t.Context(), p.path, 1500*time.Millisecond)
	fatal.If(t, err)
	for _, rule := range r.Broken() {
		t.Errorf("%s is broken: %s", rule.Rules, rule.Seen)
	}
	if !slices.ContainsFunc(r.Results, func(rule conformance.Result) bool {
		return rule.Rules == "K1 K2 M5 O5" && rule.Outcome == conformance.Passed
	}) {
		t.Errorf("no step was seen: %+v", r.Results)
	}
}
