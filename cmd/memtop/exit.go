package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"memtop/snapshots"
)

// The exit codes that scripts may rely on. 5 and 6 are for live processes.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitMissing     = 3
	exitPermission  = 4
	exitCorrupt     = 7
	exitThreshold   = 10
	exitInterrupted = 130
)

// usageError is a command line that makes no sense.
type usageError struct{ cause, remedy string }

func (e usageError) Error() string { return e.cause }

// usage returns an error about how cmd was called.
func usage(cmd *cobra.Command, cause string) error {
	return usageError{cause, cmd.CommandPath() + " --help"}
}

// thresholdError says that a limit the user set is exceeded.
type thresholdError struct{ cause, remedy string }

func (e thresholdError) Error() string { return e.cause }

// cutError says that a command did what it could with a file that ends early.
type cutError struct{ path string }

func (e cutError) Error() string {
	return e.path + ": the file ends early; what was readable was used"
}

// bugError is a panic of memtop's own.
type bugError struct{ value any }

func (e bugError) Error() string { return fmt.Sprintf("a bug in memtop: %v", e.value) }

// describe returns the exit code for an error and the line to print, which
// names the cause and one remedy.
func describe(err error) (code int, line string) {
	code, cause, remedy := classify(err)
	line = cause
	if remedy != "" {
		line += "; " + remedy
	}
	return code, strings.Join(strings.Fields(line), " ")
}

func classify(err error) (code int, cause, remedy string) {
	var (
		use       usageError
		corrupt   *snapshots.CorruptError
		threshold thresholdError
		bug       bugError
		cut       cutError
	)
	switch {
	case errors.As(err, &use):
		return exitUsage, use.cause, "try: " + use.remedy
	case errors.As(err, &corrupt):
		return exitCorrupt, corrupt.Error(), corrupt.Remedy
	case errors.As(err, &cut):
		return exitCorrupt, cut.Error(), "copy it again from where it was dumped"
	case errors.As(err, &threshold):
		return exitThreshold, threshold.cause, threshold.remedy
	case errors.As(err, &bug), errors.Is(err, tea.ErrProgramPanic):
		return exitError, err.Error(), "run it again with --log FILE and report what the log says"
	case errors.Is(err, context.Canceled), errors.Is(err, tea.ErrInterrupted):
		return exitInterrupted, "interrupted", "nothing was changed"
	default:
		return classifySystem(err)
	}
}

// classifySystem is for what the operating system refused.
func classifySystem(err error) (code int, cause, remedy string) {
	cause = err.Error()
	var path *fs.PathError
	if errors.As(err, &path) {
		cause = fmt.Sprintf("%s: %v", path.Path, path.Err)
	}
	switch {
	case errors.Is(err, syscall.EISDIR):
		return exitMissing, cause, "name a file in it"
	case errors.Is(err, fs.ErrNotExist):
		return exitMissing, cause, "check the path"
	case errors.Is(err, fs.ErrPermission):
		return exitPermission, cause, "ask its owner for access, or work on a copy"
	case errors.Is(err, syscall.ENOSPC):
		return exitError, cause, "make room, or write elsewhere"
	default:
		return exitError, cause, "run it again with --log FILE to see more"
	}
}
