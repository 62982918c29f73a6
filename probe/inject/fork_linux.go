package inject

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is a system call.
type call struct {
	what   string // for messages
	number uintptr
	args   [5]uintptr
}

// series is a list of system calls that a new process makes. The last call replaces the
// process's program. The list is made beforehand, because the new process cannot allocate.
type series struct {
	calls  []call
	report uintptr  // the process writes here which call failed: a pipe that execve closes
	failed [2]int32 // the number of the call, and its error
	status int32    // of the process that was waited for
	keep   []any    // the values that the arguments point to
}

// fork starts a new process that makes the calls, and returns its pid. The process is a copy
// of this one with only the calling thread, because the kernel lets only such a process enter
// a user namespace. Package os/exec cannot do that: its new processes share this one's
// memory until they call execve.
//
// The new process has no Go runtime, so this must not call anything that may allocate, lock,
// or check the stack's size.
//
//go:norace
//go:nosplit
//go:noinline
func (s *series) fork() (pid uintptr, err unix.Errno) {
	pid, _, err = unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if pid == 0 && err == 0 {
		s.perform()
	}
	return pid, err
}

// perform makes the calls. It does not return.
//
//go:norace
//go:nosplit
func (s *series) perform() {
	for i := 0; i < len(s.calls); i++ {
		c := &s.calls[i]
		result, _, err := unix.RawSyscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], 0)
		if err != 0 {
			s.failed[0], s.failed[1] = int32(i), int32(err) //nolint:gosec // small numbers
			_, _, _ = unix.RawSyscall6(unix.SYS_WRITE, s.report, uintptr(unsafe.Pointer(&s.failed)), 8, 0, 0, 0)
			leave(1)
		}
		if c.number == unix.SYS_CLONE && result != 0 {
			s.wait(result)
		}
	}
	leave(1)
}

// wait waits for a new process, which goes on with the calls, and exits with its status.
//
//go:norace
//go:nosplit
func (s *series) wait(pid uintptr) {
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOSE, s.report, 0, 0, 0, 0, 0) // the new process has it
	for {
		_, _, err := unix.RawSyscall6(unix.SYS_WAIT4, pid, uintptr(unsafe.Pointer(&s.status)), unix.WALL, 0, 0, 0)
		if err == 0 {
			leave(uintptr(s.status>>8) & 0xff) // 0 if a signal ended it: then it has reported nothing
		}
		if err != unix.EINTR {
			leave(1)
		}
	}
}

//go:norace
//go:nosplit
func leave(code uintptr) {
	for {
		_, _, _ = unix.RawSyscall6(unix.SYS_EXIT_GROUP, code, 0, 0, 0, 0, 0)
	}
}

// add adds a call. Values that its arguments point to must be in s.keep.
func (s *series) add(what string, number uintptr, args ...uintptr) {
	c := call{what: what, number: number}
	copy(c.args[:], args)
	s.calls = append(s.calls, c)
}

// pointTo returns the address of a value, which stays valid as long as s.
func pointTo[T any](s *series, value *T) uintptr {
	s.keep = append(s.keep, value)
	return uintptr(unsafe.Pointer(value))
}

// run starts a new process that makes the calls, and returns when it has ended. The error says
// which call failed. After the last call, only the new program can report an error.
func (s *series) run() error {
	ends, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ends.Close() // it was only read
	s.report, err = aside(w.Fd())
	_ = w.Close() // the copy is used
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the new process ends with this thread
	defer runtime.UnlockOSThread()
	pid, failed := s.fork()
	runtime.KeepAlive(s)
	_ = unix.Close(int(s.report)) // the new process has it
	if failed != 0 {
		return fmt.Errorf("starting a process: %w", failed)
	}
	report, err := io.ReadAll(io.LimitReader(ends, int64(unsafe.Sizeof(s.failed))))
	if _, err2 := unix.Wait4(int(pid), nil, unix.WALL, nil); err2 != nil || err != nil {
		return errors.Join(err, err2)
	}
	if len(report) == 0 {
		return nil
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&s.failed)), unsafe.Sizeof(s.failed)), report)
	return fmt.Errorf("%s: %w", s.calls[s.failed[0]].what, unix.Errno(s.failed[1])) //nolint:gosec // as the kernel numbers them
}

// aside returns a copy of a file, with a number that is not one of a new process's first files.
func aside(file uintptr) (uintptr, error) {
	const first = 10
	n, err := unix.FcntlInt(file, unix.F_DUPFD_CLOEXEC, first)
	return uintptr(n), err //nolint:gosec // not used after an error
}
