package command

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/memtop/memtop/snapshots/cause"
)

// The exit codes that scripts may rely on.
const (
	ExitOK         = 0
	ExitError      = 1
	ExitUsage      = 2
	ExitMissing    = 3
	ExitPermission = 4
	ExitNoProbe    = 5
	ExitVersion    = 6
	ExitCorrupt    = 7
	ExitThreshold  = 10
	ExitDoesNotFit = 11
	ExitSignal     = 128 // and the number of the signal, see [Ended]
)

// ExitCodes says what each exit code means, for help.
func ExitCodes() string {
	lines := []string{
		"0 ok", "1 runtime error", "2 usage", "3 no such process or file", "4 not permitted", "5 the process has no probe",
		"6 another version of the protocol", "7 damaged, truncated, changing or unsafe file or answer",
		"10 check or diff found more than allowed", "11 a rehearsed program does not fit",
	}
	for _, e := range Endings() {
		lines = append(lines, fmt.Sprintf("%d %v", e.Code(), e))
	}
	return strings.Join(lines, "\n")
}

// UsageError reports an invalid command line.
type UsageError struct{ Cause, Remedy string }

// Error returns the cause.
func (e UsageError) Error() string { return e.Cause }

// Usage returns a [UsageError].
func Usage(cause, remedy string) error { return UsageError{cause, remedy} }

// Failure says why a command failed, and gives the exit code.
type Failure struct {
	Code          int
	Cause, Remedy string // the remedy may be ""
}

// Error returns the cause.
func (e Failure) Error() string { return e.Cause }

// BugError reports a panic in memtop itself.
type BugError struct {
	Program string
	Value   any
}

// Error names the program with the bug.
func (e BugError) Error() string { return fmt.Sprintf("a bug in %s: %v", e.Program, e.Value) }

// Line returns a failure as one line: its cause and, if there is one, a remedy.
func Line(cause, remedy string) string {
	if remedy != "" {
		cause += "; " + remedy
	}
	return strings.Join(strings.Fields(cause), " ")
}

// System returns the exit code, the cause and the remedy for an error of the
// operating system. For any other error the remedy is the argument otherwise.
func System(err error, otherwise string) (code int, text, remedy string) {
	text = cause.Of(err)
	switch {
	case errors.Is(err, syscall.EISDIR):
		return ExitMissing, text, "name a file in it"
	case errors.Is(err, fs.ErrNotExist):
		return ExitMissing, text, "check the path"
	case errors.Is(err, fs.ErrPermission):
		return ExitPermission, text, "ask its owner for access, or work on a copy"
	case errors.Is(err, syscall.EROFS):
		return ExitPermission, text, "write elsewhere"
	case errors.Is(err, syscall.ENOSPC):
		return ExitError, text, "make room, or write elsewhere"
	default:
		return ExitError, text, otherwise
	}
}
