package inject

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/procfs"
)

// obstacles are reasons why the system may refuse to let one process into another.
type obstacles struct {
	scope     int  // kernel.yama.ptrace_scope, 0 if the kernel has none
	capable   bool // the process that goes in has CAP_SYS_PTRACE
	root      bool // it runs as root
	container bool // it runs in a container
	closed    bool // the program's memory is closed even to its own user
}

// mayTrace reports whether the process that goes in may trace the program. For this process
// the kernel answers. A process that takes the program's identity has the program's rights,
// and asks again once it has them.
func (p *Plan) mayTrace() error {
	o := look(p.program)
	if !p.becomes {
		err := mayOpen(p.program.PID)
		if errors.Is(err, fs.ErrNotExist) {
			return &attach.NotFoundError{Target: "process " + strconv.Itoa(p.program.PID)}
		}
		if err == nil {
			return nil
		}
		o.capable, o.root = p.mine.Permitted&ptrace != 0, os.Geteuid() == 0
	} else {
		o.capable = p.rights.Permitted&ptrace != 0
		if (o.scope == 0 || o.capable) && o.scope < 3 && !o.closed {
			return nil
		}
	}
	return o.refusal(p.program.PID)
}

// mayOpen asks the kernel whether this process may go into another: in exactly that case it
// may open the other's memory. Nothing is read, and the other process does not notice.
func mayOpen(pid int) error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err == nil {
		return f.Close()
	}
	return err
}

// look finds the obstacles.
func look(r *attach.Running) obstacles {
	var o obstacles
	if scope, err := procfs.Read("/proc/sys/kernel/yama/ptrace_scope"); err == nil {
		o.scope, _ = strconv.Atoi(strings.TrimSpace(string(scope))) // the kernel writes a number
	}
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"} {
		if _, err := os.Stat(mark); err == nil {
			o.container = true
		}
	}
	var stat unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/environ", r.PID), &stat); err == nil {
		o.closed = stat.Uid == 0 && r.User != 0 // the kernel then makes root the owner
	}
	return o
}

// refusal returns an error that names the obstacle and how to remove it.
func (o obstacles) refusal(pid int) *RefusedError {
	e := &RefusedError{Cause: fmt.Sprintf("the system lets nothing into process %d", pid), Remedy: launch, Forbidden: true}
	switch {
	case o.scope >= 3:
		e.Cause += ": kernel.yama.ptrace_scope is 3 until the machine restarts"
	case o.root && !o.capable && o.container:
		e.Cause += ": this container has no CAP_SYS_PTRACE"
		e.Remedy = "start the container with --cap-add SYS_PTRACE, run memtop on the machine outside, or " + launch
	case o.root && !o.capable:
		e.Cause += ": this root user has no CAP_SYS_PTRACE"
	case o.scope > 0 && !o.capable && o.container:
		e.Cause += fmt.Sprintf(" but its parents: kernel.yama.ptrace_scope is %d", o.scope)
		e.Remedy = "start the container with --cap-add SYS_PTRACE and be root, or " + launch
	case o.scope == 1 && !o.capable:
		e.Cause += " but its parents: kernel.yama.ptrace_scope is 1, and memtop goes in with the rights of the process, as root too"
		e.Remedy = "once: sudo sysctl kernel.yama.ptrace_scope=0, or " + launch
	case o.scope == 2 && !o.capable:
		e.Cause += " without CAP_SYS_PTRACE: kernel.yama.ptrace_scope is 2, and memtop goes in with the rights of the process, as root too"
	case o.closed:
		e.Cause += ": it has changed its rights, or closed its memory to other processes"
	}
	return e
}
