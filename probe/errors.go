package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"
)

// NotFoundError says that there is nothing to attach to.
type NotFoundError struct{ Target string }

// Error names what is not there.
func (e *NotFoundError) Error() string { return "there is no " + e.Target }

// Is reports whether target is fs.ErrNotExist, which this is a case of.
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// PermissionError says that this user may not attach, or should not: somebody
// else could be at the other end.
type PermissionError struct{ Cause, Remedy string }

// Error returns the cause.
func (e *PermissionError) Error() string { return e.Cause }

// Is reports whether target is fs.ErrPermission, which this is a case of.
func (e *PermissionError) Is(target error) bool { return target == fs.ErrPermission }

// NoProbeError says that a process is there and nobody listens in it.
type NoProbeError struct {
	PID    int    // 0 when only the socket is known
	Socket string // that was left behind; "" when there is none
}

// Error says which process it is.
func (e *NoProbeError) Error() string {
	switch {
	case e.PID == 0:
		return fmt.Sprintf("nobody listens on %s any more", e.Socket)
	case e.Socket != "":
		return "the probe of process " + strconv.Itoa(e.PID) + " is off"
	}
	return "process " + strconv.Itoa(e.PID) + " has no probe"
}

// SilentError says that a process has a probe and does not answer.
type SilentError struct{ PID int }

// Error says what it may be.
func (e *SilentError) Error() string {
	return "process " + strconv.Itoa(e.PID) + " does not answer: it may be stopped"
}

// isStale reports whether a socket is what an ended program left behind.
func isStale(err error) bool {
	var none *NoProbeError
	var missing *NotFoundError
	return errors.As(err, &none) || errors.As(err, &missing)
}

// told makes an error of the system's one that says what it means here.
func (e endpoint) told(err error) error {
	var folder *FolderError
	var forbidden *PermissionError
	var missing *NotFoundError
	switch {
	case errors.As(err, &forbidden), errors.As(err, &missing):
		return err
	case errors.As(err, &folder):
		return &PermissionError{"folder " + folder.Path + " " + folder.Reason, "attach only to sockets in a folder that is closed to others"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &NoProbeError{PID: e.pid, Socket: e.path()}
	case errors.Is(err, fs.ErrNotExist):
		return &NotFoundError{Target: "socket " + e.path()}
	case errors.Is(err, fs.ErrPermission):
		return &PermissionError{e.path() + ": permission denied", "attach as the user that the program runs as, or as root"}
	}
	return err
}
