package inject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// order is the task for a memtop that takes another program's identity.
type order struct {
	Task   task
	PID    int    // of the program, in this PID namespace
	Rights rights // that the program must have
}

// answer is the result.
type answer struct {
	Cause              string // "" if it went well
	Refused, Forbidden bool
}

// standard is the environment of a process that acts as another one.
var standard = []string{"PATH=" + standardPath, "LC_ALL=C"}

const standardPath = "/usr/local/bin:/usr/bin:/bin"

// delegate makes a memtop that takes the program's identity do the task.
func delegate(ctx context.Context, o *order) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, taskWithin, &FailedError{Cause: "the agent was not started in " + o.Task.Name + " in time"})
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{becomes}
	cmd.Env = append(standard, orderVariable+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // typed keys do not interrupt it
	said := &bounded{left: maxPrinted}
	cmd.Stdout = said
	waits, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Cancel, cmd.WaitDelay = waits.Close, 2*debugLeave // it waits for a debugger itself
	failed := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var a answer
	if err := json.Unmarshal(said.text, &a); err != nil {
		return &FailedError{Cause: fmt.Sprintf("the agent was not started in %s: %v", o.Task.Name, errors.Join(failed, err))}
	}
	return a.error()
}

// taskWithin is the longest time for a task that another process does.
const taskWithin = debugWithin + remoteWithin + answerWithin + 10*time.Second

func (a answer) error() error {
	cause := trace.Printable(a.Cause)
	switch {
	case cause == "":
		return nil
	case a.Refused:
		return &RefusedError{Cause: cause, Remedy: launch, Forbidden: a.Forbidden}
	default:
		return &FailedError{Cause: cause}
	}
}

// bounded keeps what is written to it, up to a limit.
type bounded struct {
	text []byte
	left int
}

// Write keeps p, or fails if that would exceed the limit.
func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errors.New("its output is too long")
	}
	b.text, b.left = append(b.text, p...), b.left-len(p)
	return len(p), nil
}
