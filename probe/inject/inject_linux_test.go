package inject

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// deadline is for what takes a moment on a machine that is not busy.
const deadline = time.Minute

// job is a Python program that passes for one with PyTorch: it counts until its
// standard input ends, says when an agent is started in it, and leaves with 7.
const job = `
import sys, threading, types
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
sys.modules["torch"] = types.ModuleType("torch")
agent = sys.modules["memtop.agent"] = types.ModuleType("memtop.agent")
def start(host):
    if "bad" in sys.argv: raise OSError("the disk is full")
    print("agent", __name__, flush=True)
agent.start = start
names = sorted(globals())
print("ready", flush=True)
count = 0
while not ended.wait(0.001):
    count += 1
    if count % 50 == 0: print("counted", sorted(set(globals()) - set(names) - {"names", "count"}), flush=True)
sys.exit(7)
`

// running is a program under test.
type running struct {
	t     *testing.T
	cmd   *exec.Cmd
	input io.Closer
	lines *bufio.Scanner
}

// pythons returns the interpreters to try: those of MEMTOP_TEST_PYTHONS, as in
// PATH, else the one that there is.
func pythons(t *testing.T) []string {
	t.Helper()
	if list := os.Getenv("MEMTOP_TEST_PYTHONS"); list != "" {
		return filepath.SplitList(list)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python here: ", err)
	}
	return []string{python}
}

// run starts the job and waits until it is ready.
func run(t *testing.T, python, program string, args ...string) *running {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, append([]string{"-c", program}, args...)...)
	cmd.Env = append(os.Environ(), "MEMTOP_DIR="+filepath.Join(t.TempDir(), "sockets"), "OMP_NUM_THREADS=1")
	return started(t, cmd)
}

// started starts a command that becomes the job.
func started(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	fatal.If(t, err)
	output, err := cmd.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	r := &running{t, cmd, input, bufio.NewScanner(output)}
	r.until("ready")
	return r
}

// until reads what the job prints up to a line.
func (r *running) until(line string) {
	r.t.Helper()
	for r.lines.Scan() {
		if r.lines.Text() == line {
			return
		}
	}
	r.t.Fatalf("it ended without %q: %v", line, r.lines.Err())
}

// goesOn checks that the job is as it was, and ends as it does.
func (r *running) goesOn() {
	r.t.Helper()
	for range 3 {
		r.until("counted []")
	}
	if err := r.input.Close(); err != nil {
		r.t.Error(err)
	}
	for r.lines.Scan() {
		if strings.Contains(r.lines.Text(), "agent") {
			r.t.Error("it prints ", r.lines.Text())
		}
	}
	var exit *exec.ExitError
	if err := r.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		r.t.Errorf("it left with %v, want 7", err)
	}
}

// plan returns the way into the job, by a debugger if one is named.
func (r *running) plan(debugger string) *Plan {
	r.t.Helper()
	p, err := NewPlan(r.cmd.Process.Pid)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		r.t.Skip(refused)
	case err != nil:
		r.t.Fatal(err)
	}
	if debugger == "lldb" && p.program.Root != "/" {
		r.t.Skip("lldb is for programs in this root")
	}
	if debugger != "" {
		if p.debugger, err = exec.LookPath(debugger); err != nil {
			r.t.Skip(err)
		}
	}
	return p
}

func TestTheAgentIsBroughtIn(t *testing.T) {
	for _, python := range pythons(t) {
		for _, debugger := range []string{"", "gdb", "lldb"} {
			t.Run(filepath.Base(filepath.Dir(filepath.Dir(python)))+" "+debugger, func(t *testing.T) {
				r := run(t, python, job)
				p := r.plan(debugger)
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				began := time.Now()
				fatal.If(t, p.Start(ctx))
				t.Logf("%s: %v", p.How(), time.Since(began))
				r.until("agent __main__")
				entries, err := os.ReadDir(filepath.Join(p.program.Root, p.program.Folders[0]))
				if err != nil || len(entries) != 1 {
					t.Errorf("beside the agent there is %v, %v", entries, err)
				}
				r.goesOn()
			})
		}
	}
}

func TestAnAgentThatFailsIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		program string
		args    []string
		want    string
	}{
		"it raises":      {job, []string{"bad"}, "has no agent: OSError: the disk is full"},
		"it is not ours": {strings.ReplaceAll(job, `"torch"`, `"jax"`), nil, "has no agent: it has not imported PyTorch"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, pythons(t)[0], test.program, test.args...)
			err := r.plan("").Start(t.Context())
			var failed *FailedError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			r.goesOn()
		})
	}
}

func TestWithoutADebuggerItSaysWhatToInstall(t *testing.T) {
	r := run(t, pythons(t)[0], job)
	p := r.plan("")
	t.Setenv("PATH", t.TempDir())
	var refused *RefusedError
	if _, err := NewPlan(r.cmd.Process.Pid); p.version < remote && (!errors.As(err, &refused) || refused.Remedy != "install the package gdb, or start it with memtop run") {
		t.Errorf("got %v", err)
	}
}

// TestKillingADebuggerLeavesTheProgramRunning kills it as soon as it is in.
func TestKillingADebuggerLeavesTheProgramRunning(t *testing.T) {
	r := run(t, pythons(t)[0], job)
	p := r.plan("gdb")
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	gdb := exec.CommandContext(ctx, p.debugger, inThenSleep(p.task().gdbArguments("pass"))...)
	gdb.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := gdb.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, gdb.Start())
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "in"; {
	}
	if _, err := NewPlan(r.cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), "is being debugged by process") {
		t.Errorf("while a debugger is in it: %v", err)
	}
	fatal.If(t, syscall.Kill(-gdb.Process.Pid, syscall.SIGKILL))
	_ = gdb.Wait() // it was killed
	p.task().letGo()
	r.goesOn()
}

// inThenSleep has gdb stay in the program when it is there, and say so.
func inThenSleep(args []string) []string {
	first := slices.Index(args, "-ex")
	return append(args[:first:first], "-ex", "shell echo in", "-ex", "shell sleep 1000")
}
