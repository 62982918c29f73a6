package attach

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/snapshots/procfs"
)

// process is what /proc says about a running process.
type process struct {
	pid    int
	uid    int    // effective, in this process's namespace
	inside int    // the pid in the innermost namespace, the one that the process itself sees
	start  uint64 // in clock ticks, as the process itself reads it
}

// readProcess reads a process; the error wraps [fs.ErrNotExist] when there is
// none.
func readProcess(pid int) (process, error) {
	status, err := procfs.Status(procfs.Of(pid, "status"))
	if err != nil {
		return process{}, err
	}
	inside := status["NSpid"]
	p := process{pid: pid, uid: procfs.Number(status["Uid"], 1, -1), inside: procfs.Number(inside, len(inside)-1, pid)}
	p.start, err = startOf(pid)
	p.start += uint64((bootOffset(procfs.Of(pid, "timens_offsets")) - bootOffset("/proc/self/timens_offsets")) / procfs.Tick)
	return p, err
}

// bootOffset returns by how much a time namespace shifts the time of the boot, 0
// without time namespaces. The times that a process reads about itself in /proc
// are shifted by it.
func bootOffset(path string) time.Duration {
	text, _ := procfs.Read(path) // nothing on an old kernel
	_, offset, _ := strings.Cut(string(text), "boottime")
	var seconds, nanos int64
	_, _ = fmt.Sscan(offset, &seconds, &nanos) // the kernel writes numbers
	return time.Duration(seconds)*time.Second + time.Duration(nanos)
}

// startOf returns when a process began, in clock ticks since boot.
func startOf(pid int) (uint64, error) { return procfs.StartOf(procfs.Of(pid, "stat")) }

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

// ownUID returns the user id that the process itself sees; it is another number
// in a user namespace.
func (p process) ownUID() int {
	data, err := procfs.Read(procfs.Of(p.pid, "uid_map"))
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
	theirs, err := os.Readlink(procfs.Of(p.pid, "ns/mnt"))
	ours, err2 := os.Readlink("/proc/self/ns/mnt")
	if err != nil || err2 != nil || theirs != ours {
		return procfs.Of(p.pid, "root")
	}
	if root, err := os.Readlink(procfs.Of(p.pid, "root")); err != nil || root != "/" {
		return procfs.Of(p.pid, "root")
	}
	return "/"
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
