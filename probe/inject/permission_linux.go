package inject

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/memtop/memtop/probe/attach"
)

// obstacles are why the system may not let this process into another one.
type obstacles struct {
	scope     int  // kernel.yama.ptrace_scope, 0 where there is none
	capable   bool // this process has CAP_SYS_PTRACE
	root      bool // it is root's
	container bool // it runs in one
	closed    bool // the other one keeps its memory closed to its own user
}

// mayTrace asks the kernel whether this process may go into another: it lets its
// memory be opened exactly then. Nothing is read, and the other does not notice.
func mayTrace(r *attach.Running) error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", r.PID), os.O_RDWR, 0)
	if err == nil {
		return f.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &attach.NotFoundError{Target: "process " + strconv.Itoa(r.PID)}
	}
	return look(r).refusal(r.PID)
}

// look finds what stands in the way.
func look(r *attach.Running) obstacles {
	o := obstacles{root: os.Geteuid() == 0}
	if scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil {
		o.scope, _ = strconv.Atoi(strings.TrimSpace(string(scope))) // the kernel writes a number
	}
	o.capable = hasTrace(os.ReadFile("/proc/self/status"))
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"} {
		if _, err := os.Stat(mark); err == nil {
			o.container = true
		}
	}
	if info, err := os.Stat(fmt.Sprintf("/proc/%d/environ", r.PID)); err == nil {
		o.closed = ownerOf(info) == 0 && r.User != 0 // the kernel gives it to root then
	}
	return o
}

// hasTrace reports whether a status file says CAP_SYS_PTRACE is in force.
func hasTrace(status []byte, _ error) bool {
	const number = 19
	for line := range strings.Lines(string(status)) {
		if value, is := strings.CutPrefix(line, "CapEff:"); is {
			set, _ := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return set&(1<<number) != 0
		}
	}
	return false
}

// refusal says what stands in the way and how to put that right.
func (o obstacles) refusal(pid int) *RefusedError {
	e := &RefusedError{Cause: fmt.Sprintf("the system lets nothing into process %d", pid), Remedy: launch, Forbidden: true}
	again := fmt.Sprintf("sudo memtop attach %d", pid)
	switch {
	case o.scope >= 3:
		e.Cause += ": kernel.yama.ptrace_scope is 3, until the machine starts anew"
	case o.root && !o.capable && o.container:
		e.Cause += ": this container has no CAP_SYS_PTRACE"
		e.Remedy = "start the container with --cap-add SYS_PTRACE, run memtop on the machine outside, or " + launch
	case o.root && !o.capable:
		e.Cause += ": this root has no CAP_SYS_PTRACE"
	case o.scope > 0 && !o.capable && o.container:
		e.Cause += fmt.Sprintf(" but its parents: kernel.yama.ptrace_scope is %d", o.scope)
		e.Remedy = "start the container with --cap-add SYS_PTRACE and be root, or " + launch
	case o.scope == 1 && !o.capable:
		e.Cause += " but its parents: kernel.yama.ptrace_scope is 1"
		e.Remedy = again + ", or once: sudo sysctl kernel.yama.ptrace_scope=0, or " + launch
	case o.scope == 2 && !o.capable:
		e.Cause += " but root: kernel.yama.ptrace_scope is 2"
		e.Remedy = again + ", or " + launch
	case o.closed:
		e.Cause += " but root: it has taken other rights, or closed its memory"
		e.Remedy = again + ", or " + launch
	}
	return e
}
