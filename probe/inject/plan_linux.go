package inject

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// Plan is a way into a program. It is owned by one goroutine.
type Plan struct {
	program  *attach.Running
	version  int    // of Python 3
	debugger string // the path of one, "" where Python does it itself
}

// The versions of Python 3 that the agent is for.
const oldest, remote = 9, 14 // from remote on a program can be had to run a file

// NewPlan decides how to go into a program.
func NewPlan(pid int) (*Plan, error) {
	program, err := attach.Look(pid)
	if err != nil {
		return nil, err
	}
	p := &Plan{program: program, version: versionOf(program)}
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.version < remote {
		return p, p.findDebugger()
	}
	return p, nil
}

// check reports what stands in the way, whatever the way is.
func (p *Plan) check() error {
	who := "process " + strconv.Itoa(p.program.PID)
	switch {
	case p.version < 0:
		return &RefusedError{Cause: who + " is not a Python that memtop knows", Remedy: launch}
	case p.version < oldest:
		return &RefusedError{
			Cause:  fmt.Sprintf("%s runs Python 3.%d, and the agent needs 3.%d", who, p.version, oldest),
			Remedy: "use a newer Python",
		}
	case p.program.Tracer != 0:
		return &RefusedError{
			Cause:  fmt.Sprintf("%s is being debugged by process %d", who, p.program.Tracer),
			Remedy: "end that first", Forbidden: true,
		}
	case p.program.Stopped:
		return &RefusedError{Cause: who + " is stopped", Remedy: fmt.Sprintf("kill -CONT %d lets it go on", p.program.PID)}
	}
	if option := forbids(p.program); option != "" && p.version >= remote {
		return &RefusedError{Cause: who + " was started with " + option + ", which keeps everything out", Remedy: "start it without, or with memtop run", Forbidden: true}
	}
	return mayTrace(p.program)
}

// forbids returns how a program was told to let nothing in, "" if it was not.
func forbids(r *attach.Running) string {
	const variable, option = "PYTHON_DISABLE_REMOTE_DEBUG", "disable_remote_debug"
	if attach.EnvironmentOf(r.PID)(variable) != "" {
		return variable
	}
	for i, argument := range r.Arguments {
		if argument == "-X"+option || argument == option && i > 0 && r.Arguments[i-1] == "-X" {
			return "-X " + option
		}
	}
	return ""
}

// findDebugger finds a program that can go in.
func (p *Plan) findDebugger() error {
	for _, name := range []string{"gdb", "lldb"} {
		if name == "lldb" && p.program.Root != "/" {
			continue // it calls wrong addresses where it cannot read the program's libraries
		}
		if found, err := exec.LookPath(name); err == nil {
			p.debugger = found
			return nil
		}
	}
	return &RefusedError{
		Cause: fmt.Sprintf("process %d runs Python 3.%d, into which only a debugger can bring the agent, and neither gdb nor lldb is here",
			p.program.PID, p.version),
		Remedy: "install the package gdb, or " + launch,
	}
}

// versionPatterns find Python's version in the name of a file, the surest first.
var versionPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(?m)/libpython3\.(\d+)t?\.so[.\d]*$`),
	regexp.MustCompile(`/python3\.(\d+)t?(?: \(deleted\))?$`),
	regexp.MustCompile(`(?m)\.cpython-3(\d+)t?-[^/]*\.so$`),
	regexp.MustCompile(`/lib/python3\.(\d+)t?/`),
}

// versionOf returns which Python 3 a program runs, −1 if none that is known.
func versionOf(r *attach.Running) int {
	if !strings.Contains(path.Base(r.Executable), "python") && !strings.Contains(r.Maps, "/libpython3.") {
		return -1
	}
	for i, pattern := range versionPatterns {
		text := r.Maps
		if i == 1 {
			text = r.Executable
		}
		if found := pattern.FindStringSubmatch(text); found != nil {
			n, err := strconv.Atoi(found[1])
			if err == nil {
				return n
			}
		}
	}
	return -1
}

// Program returns what the system says of the program.
func (p *Plan) Program() *attach.Running { return p.program }

// How says in a clause what goes into the program.
func (p *Plan) How() string {
	if p.debugger == "" {
		return fmt.Sprintf("Python 3.%d runs it at its next safe point (sys.remote_exec)", p.version)
	}
	return path.Base(p.debugger) + " stops it for a second or so and leaves it one line of Python to run"
}

// Start brings the agent in and returns when it runs there. An error says that it
// does not, and the program goes on without.
func (p *Plan) Start(ctx context.Context) error {
	place, err := p.prepare()
	if err != nil {
		return err
	}
	defer place.clear()
	if p.debugger == "" {
		err = p.remote(ctx, place.script)
	} else {
		err = p.debug(ctx, place.script)
	}
	if err != nil {
		return err
	}
	return place.await(ctx, p.program)
}

// failure returns the last line that says something of what a tool printed.
func failure(printed string) error {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "[Inferior ") && !strings.HasPrefix(line, "The process has been returned") {
			return errors.New(trace.Printable(line))
		}
	}
	return errors.New("it says nothing")
}
