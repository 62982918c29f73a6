package inject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// task is everything needed to bring the agent into a program. It is done with the program's
// rights and in its namespaces: see "Becoming the program".
type task struct {
	PID      int      // of the program, in the PID namespace of the process that does this
	Name     string   // of the program, for the user
	Debugger string   // its path, "" if Python needs none
	Folders  []string // where the agent may be written, as the program sees them
	Root     string   // the path of the program's /

	executable *os.File // the file that the program ran when its rights were read
}

// do brings the agent in, and returns once it runs.
func (t *task) do(ctx context.Context) error {
	place, err := t.prepare(ctx)
	if err != nil {
		return err
	}
	defer place.clear()
	if t.Debugger == "" {
		err = t.remote(ctx, place.script)
	} else {
		err = t.debug(ctx, place.script)
	}
	if err != nil {
		return err
	}
	return place.await(ctx, t)
}

// runTool runs a tool, which gets a signal when it must end: when its context is done, or this
// process has ended. The tool has its own process group, so that keys typed at memtop do not
// interrupt it. What it has started ends with it, and is not waited for.
func runTool(cmd *exec.Cmd, end syscall.Signal) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: end}
	cmd.Cancel = func() error { return cmd.Process.Signal(end) }
	cmd.WaitDelay = debugLeave
	runtime.LockOSThread() // the system sends the signal when this thread ends
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have started nothing
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // only what it has started had its output open
	}
	return err
}

// refusals are words that a tool prints if the system does not let it in.
var refusals = []string{"PermissionError", "Operation not permitted", "attach failed"}

// toolError returns the error for what a failed tool printed.
func (t *task) toolError(cause, printed string) error {
	cause = fmt.Sprintf("%s: %v", cause, failure(printed))
	if slices.ContainsFunc(refusals, func(words string) bool { return strings.Contains(printed, words) }) {
		return &RefusedError{Cause: cause, Remedy: launch, Forbidden: true}
	}
	return &FailedError{Cause: cause}
}

// environment returns the variables for a tool: those of the process that does the task.
func (t *task) environment() []string { return append(os.Environ(), "LC_ALL=C") }
