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
	what   string // in messages
	number uintptr
	args   [5]uintptr
}

// series is system calls that a new process makes one after the other, the last of
// which replaces its program. It is made before, for the new process can allocate nothing.
type series struct {
	calls  []call
	report uintptr  // where the process says which call failed: a pipe that execve closes
	failed [2]int32 // which call, and the error
	status int32    // of a process that was waited for
	keep   []any    // what the arguments point to
}

// fork has a new process make the calls, and returns its pid. It is a copy of this one
// with nothing but the thread that calls, which is what the kernel wants of a process that
// enters a user namespace. Package os/exec has none such: its new processes run in this
// one's memory until they call execve.
//
// There is no Go runtime in the new process, so it must not call anything that may
// allocate, lock, or look whether the stack is large enough.
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
			unix.RawSyscall6(unix.SYS_WRITE, s.report, uintptr(unsafe.Pointer(&s.failed)), 8, 0, 0, 0)
			leave(1)
		}
		if c.number == unix.SYS_CLONE && result != 0 {
			s.wait(result)
		}
	}
	leave(1)
}

// wait waits for a new process, which goes on with the calls, and ends as it does.
//
//go:norace
//go:nosplit
func (s *series) wait(pid uintptr) {
	unix.RawSyscall6(unix.SYS_CLOSE, s.report, 0, 0, 0, 0, 0) // that one has it
	for {
		_, _, err := unix.RawSyscall6(unix.SYS_WAIT4, pid, uintptr(unsafe.Pointer(&s.status)), unix.WALL, 0, 0, 0)
		if err == 0 {
			leave(uintptr(s.status>>8) & 0xff) // 0 if a signal ended it, which then has said nothing
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
		unix.RawSyscall6(unix.SYS_EXIT_GROUP, code, 0, 0, 0, 0, 0)
	}
}

// add adds a call. What pointers among the arguments point to is to be in s.keep.
func (s *series) add(what string, number uintptr, args ...uintptr) {
	c := call{what: what, number: number}
	copy(c.args[:], args)
	s.calls = append(s.calls, c)
}

// pointTo returns the address of a value, which stays there as long as s does.
func pointTo[T any](s *series, value *T) uintptr {
	s.keep = append(s.keep, value)
	return uintptr(unsafe.Pointer(value))
}

// run has a new process make the calls, and returns when it has ended. The error says
// which call failed; after the last one it is for the new program to say something.
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
	runtime.LockOSThread()
	pid, failed := s.fork()
	runtime.UnlockOSThread()
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

// aside returns a copy of a file whose number is none that a new process begins with.
func aside(file uintptr) (uintptr, error) {
	const first = 10
	n, err := unix.FcntlInt(file, unix.F_DUPFD_CLOEXEC, first)
	return uintptr(n), err //nolint:gosec // it is none after an error
}
