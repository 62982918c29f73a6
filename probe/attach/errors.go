package attach

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strconv"
	"syscall"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/cause"
)

// NotFoundError says that there is nothing to attach to.
type NotFoundError struct{ Target string }

// Error names the missing target.
func (e *NotFoundError) Error() string { return "there is no " + e.Target }

// Is reports whether target is fs.ErrNotExist, which this is a case of.
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// PermissionError says that this user may not attach, or should not: another
// user could be at the other end.
type PermissionError struct{ Cause, Remedy string }

// Error returns the cause.
func (e *PermissionError) Error() string { return e.Cause }

// Is reports whether target is fs.ErrPermission, which this is a case of.
func (e *PermissionError) Is(target error) bool { return target == fs.ErrPermission }

// NoProbeError says that a process is there and does not listen. [KindOf] says
// what it is instead.
type NoProbeError struct {
	PID    int    // 0 when only the socket is known
	Socket string // that was left behind; "" when there is none
	Hidden bool   // the system does not let this user see whether there is one
	Host   string // the machine that it is on, "" for this one
	Is     Kind   // what it is there, when Host is not this machine
}

// Process names the process.
func (e *NoProbeError) Process() string {
	if e.Host != "" {
		return "process " + strconv.Itoa(e.PID) + " on " + e.Host
	}
	return "process " + strconv.Itoa(e.PID)
}

// Kind returns what the process is.
func (e *NoProbeError) Kind() Kind {
	if e.Host != "" {
		return e.Is
	}
	return KindOf(e.PID)
}

// Error says which process it is.
func (e *NoProbeError) Error() string {
	switch {
	case e.PID == 0:
		return "no process listens on " + e.Socket
	case e.Socket != "":
		return "the probe of " + e.Process() + " is off"
	}
	text := e.Process() + " has no probe"
	if e.Hidden {
		text += " that this user may see"
	}
	return text
}

// SilentError says that a program has a probe and does not answer in time.
type SilentError struct {
	Who     string
	Doing   string // what it stopped in the middle of, "" when it does not answer at all
	Stopped int    // the pid of a process that a signal has stopped, 0 otherwise
}

// silent returns the error for a program that sends nothing.
func (e endpoint) silent(doing string) error {
	silent := &SilentError{Who: e.String(), Doing: doing}
	if e.isStopped() {
		silent.Stopped = e.pid
	}
	return silent
}

// Error says who it is and, where that is known, why.
func (e *SilentError) Error() string {
	text := e.Who + " does not answer"
	if e.Doing != "" {
		text = e.Who + " stopped sending " + e.Doing
	}
	if e.Stopped != 0 {
		text += ": it is stopped"
	}
	return text
}

// EndlessError says that a program sends more than a viewer bears.
type EndlessError struct{ Cause, Remedy string }

// Error returns the cause.
func (e *EndlessError) Error() string { return e.Cause }

// MalformedError says that a program broke the protocol, or sent only the beginning
// of an answer.
type MalformedError struct {
	Who    string
	What   string // "stream", "snapshot" or "answer"
	Reason string // a clause, "" when it only ends early
}

// Error says which program sent what, and why it is malformed.
func (e *MalformedError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("%s ended its %s before it was complete", e.Who, e.What)
	}
	return fmt.Sprintf("%s sent a malformed %s: %s", e.Who, e.What, e.Reason)
}

// malformed returns a [*MalformedError] for what the program sent.
func (e endpoint) malformed(what string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &MalformedError{Who: e.String(), What: what}
	}
	return &MalformedError{e.String(), what, cause.Of(err)}
}

// orEnded returns the error that a process gave cause for, or else, when the process
// has ended, that it is not there: what it left undone means no more than that.
func (e endpoint) orEnded(err error) error {
	if e.pid == 0 || !e.hasEnded() {
		return err
	}
	return &NotFoundError{Target: e.String()}
}

// orLeft returns the error of a process whose socket was found and then was gone: its
// probe has left. A socket that the user named is what is missing.
func (e endpoint) orLeft(err error) error {
	var missing *NotFoundError
	if e.given || e.pid == 0 || !errors.As(err, &missing) || missing.Target != "socket "+e.path() {
		return err
	}
	return &NoProbeError{PID: e.pid}
}

// RefusedError says that a program did not answer what it was asked.
type RefusedError struct {
	Cause, Remedy string // Remedy is empty when the program named one
	Busy          bool   // it may answer later
}

// Error returns the cause.
func (e *RefusedError) Error() string { return e.Cause }

// ForeignError says that a folder is another user's: what programs are in it
// can only be seen by that user and root.
type ForeignError struct{ User string }

// Error says whose it is.
func (e *ForeignError) Error() string {
	return "it belongs to user " + e.User + ": ask as that user, or as root"
}

// meant returns the error that an error of the system means here.
func (e endpoint) meant(err error) error {
	var folder *protocol.FolderError
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
	case errors.Is(err, syscall.EAGAIN): // more are waiting for it than the system lets wait
		return &RefusedError{e.String() + " is busy: more connections wait for it than the system allows", "close some of its viewers", true}
	case errors.Is(err, fs.ErrPermission):
		return &PermissionError{e.path() + ": permission denied", "attach as the user that the program runs as, or as root"}
	}
	var call *net.OpError
	if errors.As(err, &call) {
		if call.Timeout() {
			return e.silent("")
		}
		return fmt.Errorf("socket %s: %w", e.path(), call.Err)
	}
	return err
}
