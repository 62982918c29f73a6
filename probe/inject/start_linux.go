package inject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// Program returns what the system tells about the program.
func (p *Plan) Program() *attach.Running { return p.program }

// How says in a clause how the agent goes into the program.
func (p *Plan) How() string {
	if p.debugger == "" {
		return fmt.Sprintf("Python 3.%d runs it at its next safe point (sys.remote_exec)", p.version)
	}
	return path.Base(p.debugger) + " stops it for a second or so and leaves it one line of Python to run"
}

// As says in a sentence what memtop runs for that, and with whose rights.
func (p *Plan) As() string {
	program := cmp.Or(p.debugger, p.program.Executable)
	if !p.becomes {
		return "memtop runs " + trace.Printable(program) + " for that, with your rights."
	}
	as := fmt.Sprintf("memtop runs %s for that as user %s (%d), with the rights of process %d and none of root's",
		trace.Printable(program), p.program.Owner, p.program.User, p.program.PID)
	if !p.mine.together(p.rights) {
		as += ", in its container"
	}
	return as + "."
}

// Start brings the agent in, and returns once it runs. If there is an error, the agent does
// not run, and the program goes on without it.
func (p *Plan) Start(ctx context.Context) error {
	if !p.becomes {
		return p.startHere(ctx, p.task())
	}
	err := delegate(ctx, &order{Task: *p.task(), PID: p.program.PID, Rights: p.rights})
	if err != nil {
		if _, gone := attach.Look(p.program.PID); gone != nil {
			return gone
		}
	}
	return err
}

// task returns the task as the process that does it sees it.
func (p *Plan) task() *task {
	t := task{
		PID: p.program.PID, Name: "process " + strconv.Itoa(p.program.PID),
		Debugger: p.debugger, Folders: p.program.Folders, Root: p.program.Root,
	}
	if p.becomes {
		t.PID, t.Root = p.program.Inside, "/"
	}
	return &t
}

// startHere does the task in this process, if the program still has the rights that were read.
func (p *Plan) startHere(ctx context.Context, t *task) (err error) {
	folder := fmt.Sprintf("/proc/%d", t.PID)
	if t.executable, err = os.OpenFile(folder+"/exe", unix.O_PATH, 0); err != nil {
		return err
	}
	defer t.executable.Close() // it was only run
	if now, err := readRights(folder); err != nil || !now.equal(p.rights) {
		return cmp.Or[error](err, &RefusedError{Cause: t.Name + " changed while memtop checked it", Remedy: launch, Forbidden: true})
	}
	return t.do(ctx)
}

// failure returns the last meaningful line that a tool printed.
func failure(printed string) error {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "[Inferior ") && !strings.HasPrefix(line, "The process has been returned") {
			return errors.New(trace.Printable(line))
		}
	}
	return errors.New("it printed nothing")
}
