package attach

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/cause"
)

// NotFoundError says that the thing to attach to does not exist.
type NotFoundError struct {
	Target  string
	Instead string // what is in its place, "" for nothing
}

// Error names the missing target.
func (e *NotFoundError) Error() string {
	if e.Instead != "" {
		return "there is no " + e.Target + ": " + e.Instead + " is in its place"
	}
	return "there is no " + e.Target
}

// Is reports whether target is fs.ErrNotExist: this error is a case of it if nothing is in
// the target's place.
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist && e.Instead == "" }

// occupied returns the error for another kind of file in a socket's place.
func (e endpoint) occupied() error {
	instead := "another file"
	if info, err := os.Lstat(e.path()); err == nil && info.IsDir() {
		instead = "a folder"
	}
	return &NotFoundError{"socket " + e.path(), instead}
}

// PermissionError says that this user may not attach, or should not because
// another user could be at the other end.
type PermissionError struct{ Cause, Remedy string }

// Error returns the cause.
func (e *PermissionError) Error() string { return e.Cause }

// Is reports whether target is fs.ErrPermission: this error is a case of it.
func (e *PermissionError) Is(target error) bool { return target == fs.ErrPermission }

// NoProbeError says that a process exists but has no probe that listens. [KindOf]
// says what it is instead.
type NoProbeError struct {
	PID    int    // 0 when only the socket is known
	Socket string // a socket left behind; "" if none
	Hidden bool   // this user may not see whether there is one
	Host   string // its machine, "" for this one
	Is     Kind   // the process's kind, when Host is another machine
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

// Error names the process and the missing probe.
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

// SilentError says that a program has a probe but does not answer in time.
type SilentError struct {
	Who     string
	Doing   string // what it was sending when it fell silent, "" if it sent nothing
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

// Error names the program and, if known, the reason.
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

// EndlessError says that a program sends more than a viewer accepts.
type EndlessError struct{ Cause, Remedy string }

// Error returns the cause.
func (e *EndlessError) Error() string { return e.Cause }

// MalformedError says that a program broke the protocol, or sent only the beginning
// of an answer.
type MalformedError struct {
	Who    string
	What   string // "stream", "snapshot" or "answer"
	Reason string // a clause, "" if it only ended early
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

// orEnded returns err, or, if the process has ended, an error that says so: the
// end explains whatever else went wrong.
func (e endpoint) orEnded(err error) error {
	if e.pid == 0 || !e.hasEnded() {
		return err
	}
	return &NotFoundError{Target: e.String()}
}

// orLeft returns the error for a socket that was found and then disappeared: the
// process has no probe any more. If the user gave the socket's path, the error
// says that the socket is missing.
func (e endpoint) orLeft(err error) error {
	var missing *NotFoundError
	if e.given || e.pid == 0 || !errors.As(err, &missing) || missing.Target != "socket "+e.path() {
		return err
	}
	return &NoProbeError{PID: e.pid}
}

// RefusedError says that a program refused a request.
type RefusedError struct {
	Cause, Remedy string // Remedy is empty when Cause has one from the program
	Busy          bool   // it may answer later

	unanswered bool // it closed the connection without a word
}

// Error returns the cause.
func (e *RefusedError) Error() string { return e.Cause }

// ForeignError says that a folder belongs to another user: only that user and
// root can see the programs in it.
type ForeignError struct{ User string }

// Error names the owner.
func (e *ForeignError) Error() string {
	return "it belongs to user " + e.User + ": ask as that user, or as root"
}

// meant translates an error of the system into an error of this package.
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
	case errors.Is(err, syscall.EAGAIN): // the system's queue of waiting connections is full
		return &RefusedError{Cause: e.String() + " is busy: more connections wait for it than the system allows", Remedy: "close some of its viewers", Busy: true}
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
