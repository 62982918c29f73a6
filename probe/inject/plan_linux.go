package inject

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/procfs"
)

// Plan is a way to go into a program. It is owned by one goroutine.
type Plan struct {
	program      *attach.Running
	version      int    // the minor version of Python 3
	debugger     string // its path as the process that goes in sees it, "" if Python needs none
	mine, rights rights // this process's, and the program's
	becomes      bool   // the process that goes in first takes the program's identity: see "Becoming the program"
}

// The minor versions of Python 3 that the agent supports.
const oldest, remote = 9, 14 // from remote on, one process can make a program run a file

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
	if err := p.compare(); err != nil {
		return nil, err
	}
	if err := p.mayTrace(); err != nil {
		return nil, err
	}
	if p.version < remote {
		return p, p.findDebugger()
	}
	return p, nil
}

// compare decides whose rights to use. Root never goes in with its own rights if they differ
// from the program's; other users cannot use any but their own.
func (p *Plan) compare() (err error) {
	who := "process " + strconv.Itoa(p.program.PID)
	if p.mine, err = readRights("/proc/self"); err == nil {
		p.rights, err = readRights("/proc/" + strconv.Itoa(p.program.PID))
	}
	root := os.Geteuid() == 0
	within, together := p.mine.within(p.rights), p.mine.together(p.rights)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &attach.NotFoundError{Target: who}
	case errors.Is(err, fs.ErrPermission):
		return look(p.program).refusal(p.program.PID)
	case err != nil:
		return err
	case within && together, within && !root && (p.program.Root == "/" || p.version < remote):
		return nil
	case !root && !together:
		return &RefusedError{
			Cause:  who + " is in a container, which memtop cannot enter from here",
			Remedy: "run memtop in it, or as root, or " + launch,
		}
	case !root:
		return &RefusedError{Cause: who + " has other groups or rights than you", Remedy: "attach as root, or " + launch, Forbidden: true}
	}
	p.becomes = true
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" { // for which the system calls are written
		return &RefusedError{Cause: "memtop must take the identity of " + who + " to go in, and cannot on this kind of machine", Remedy: launch}
	}
	return nil
}

// check returns obstacles that do not depend on the way in.
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
		return &RefusedError{Cause: who + " was started with " + option + ", which lets no other process in", Remedy: "start it without, or with memtop run", Forbidden: true}
	}
	return nil
}

// forbids returns the setting that tells a program to let nothing in, "" if there is none.
func forbids(r *attach.Running) string {
	const variable, option = "PYTHON_DISABLE_REMOTE_DEBUG", "disable_remote_debug"
	if procfs.Environment(r.PID)(variable) != "" {
		return variable
	}
	for i, argument := range r.Arguments {
		if argument == "-X"+option || argument == option && i > 0 && r.Arguments[i-1] == "-X" {
			return "-X " + option
		}
	}
	return ""
}

// versionPatterns find Python's version in file names, the most reliable first.
var versionPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(?m)/libpython3\.(\d+)t?\.so[.\d]*$`),
	regexp.MustCompile(`/python3\.(\d+)t?(?: \(deleted\))?$`),
	regexp.MustCompile(`(?m)\.cpython-3(\d+)t?-[^/]*\.so$`),
	regexp.MustCompile(`/lib/python3\.(\d+)t?/`),
}

// versionOf returns the minor version of the program's Python 3, −1 if there is none known.
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
