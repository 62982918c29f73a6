package attach

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// process is what /proc says about a running process.
type process struct {
	pid    int
	uid    int    // effective, in this process's namespace
	inside int    // the pid in the innermost namespace, the one that the process itself sees
	start  uint64 // in clock ticks, as the process itself reads it
}

// inProc returns the path of a process's file in /proc.
func inProc(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// readProcess reads a process; the error wraps [fs.ErrNotExist] when there is
// none.
func readProcess(pid int) (process, error) {
	status, err := os.ReadFile(inProc(pid, "status"))
	if err != nil {
		return process{}, protocol.Gone(err)
	}
	p := process{pid: pid, uid: -1, inside: pid}
	for line := range strings.Lines(string(status)) {
		name, values, _ := strings.Cut(line, ":")
		fields := strings.Fields(values)
		switch {
		case name == "Uid" && len(fields) > 1:
			p.uid, err = strconv.Atoi(fields[1])
		case name == "NSpid" && len(fields) > 0:
			p.inside, err = strconv.Atoi(fields[len(fields)-1])
		}
		if err != nil {
			return p, fmt.Errorf("reading the status of process %d: %w", pid, err)
		}
	}
	p.start, err = startOf(pid)
	p.start += uint64((bootOffset(inProc(pid, "timens_offsets")) - bootOffset("/proc/self/timens_offsets")) / protocol.Tick)
	return p, err
}

// bootOffset returns by how much a time namespace shifts the time of the boot, 0
// without time namespaces. The times that a process reads about itself in /proc
// are shifted by it.
func bootOffset(path string) time.Duration {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var seconds, nanos int64
		if _, err := fmt.Sscanf(line, "boottime %d %d", &seconds, &nanos); err == nil {
			return time.Duration(seconds)*time.Second + time.Duration(nanos)
		}
	}
	return 0
}

// startOf returns when a process began, in clock ticks since boot.
func startOf(pid int) (uint64, error) { return protocol.StartOf(inProc(pid, "stat")) }

// isStopped reports whether a signal has stopped a process.
func isStopped(pid int) bool {
	fields, err := protocol.StatFields(inProc(pid, "stat"), 0)
	return err == nil && fields[0][0] == 'T'
}

// endingTime is how long a process may take to end, in milliseconds, after the system
// has closed its files.
const endingTime = 100

// hasEnded reports whether a process has ended, or ends now.
func hasEnded(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	defer func() { _ = unix.Close(fd) }()                                                    // it was only polled
	ended, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, endingTime) //nolint:gosec // file descriptors are small numbers
	return err == nil && ended > 0
}

// EnvironmentOf returns the variables with which a process began, "" for one that
// it does not have. If this user may not read them, all are "".
func EnvironmentOf(pid int) func(name string) string {
	data, err := os.ReadFile(inProc(pid, "environ"))
	if err != nil {
		data = nil
	}
	variables := make(map[string]string)
	for entry := range strings.SplitSeq(string(data), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	return func(name string) string { return variables[name] }
}

// ownUID returns the user id that the process itself sees; it is another number
// in a user namespace.
func (p process) ownUID() int {
	data, err := os.ReadFile(inProc(p.pid, "uid_map"))
	if err != nil {
		return p.uid
	}
	for line := range strings.Lines(string(data)) {
		var inside, outside, count int
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err == nil && p.uid >= outside && p.uid-outside < count {
			return p.uid - outside + inside
		}
	}
	return p.uid
}

// root returns the path of the process's root directory as seen from here.
func (p process) root() string {
	theirs, err := os.Readlink(inProc(p.pid, "ns/mnt"))
	ours, err2 := os.Readlink("/proc/self/ns/mnt")
	if err != nil || err2 != nil || theirs != ours {
		return inProc(p.pid, "root")
	}
	if root, err := os.Readlink(inProc(p.pid, "root")); err != nil || root != "/" {
		return inProc(p.pid, "root")
	}
	return "/"
}

// commandOf returns a process's command line as printable text.
func commandOf(pid int) string {
	data, err := os.ReadFile(inProc(pid, "cmdline"))
	if err != nil {
		return ""
	}
	return trace.Printable(strings.TrimSpace(strings.ReplaceAll(string(data), "\x00", " ")))
}

// procIsOurs reports whether /proc belongs to this process's PID namespace. It
// does not after unshare --pid without a new /proc.
func procIsOurs() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// watch returns a function that reports whether the process that now has the
// pid still runs.
func watch(pid int) func() bool {
	began, err := startOf(pid)
	return func() bool {
		start, err2 := startOf(pid)
		return err == nil && err2 == nil && start == began
	}
}

// began reports whether the process with that pid runs, and itself reads that
// start from /proc.
func began(pid int, start uint64) bool {
	p, err := readProcess(pid)
	return err == nil && p.start == start
}
