package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"memtop/engine/data"
	"memtop/engine/train"
	"memtop/engine/weights"
)

// The exit codes that scripts may rely on, the same as memtop's.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitMissing     = 3
	exitPermission  = 4
	exitCorrupt     = 7
	exitInterrupted = 130
)

// usageError is a command line that makes no sense.
type usageError struct{ cause, remedy string }

func (e usageError) Error() string { return e.cause }

// usagef returns an error about a flag, with the general remedy.
func usagef(format string, values ...any) error {
	return usageError{fmt.Sprintf(format, values...), "try: memtrain --help"}
}

// machineError is what this machine cannot do.
type machineError struct{ cause, remedy string }

func (e machineError) Error() string { return e.cause }

// bugError is a panic of memtrain's own.
type bugError struct{ value any }

func (e bugError) Error() string { return fmt.Sprintf("a bug in memtrain: %v", e.value) }

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
		use     usageError
		machine machineError
		bug     bugError
		oom     *train.OutOfMemoryError
		damaged *train.DamagedError
		format  *data.FormatError
		weight  *weights.FormatError
	)
	switch {
	case errors.As(err, &use):
		return exitUsage, use.cause, use.remedy
	case errors.As(err, &machine):
		return exitError, machine.cause, machine.remedy
	case errors.As(err, &oom):
		return exitError, oom.Error(), "give more with --device-memory, or need less with --micro-batch or --checkpoint block"
	case errors.As(err, &damaged):
		return exitCorrupt, damaged.Error(), "resume from another file"
	case errors.As(err, &weight):
		return exitCorrupt, weight.Error(), "save it again with torch.save(model.state_dict(), FILE)"
	case errors.As(err, &format):
		return exitCorrupt, format.Error(), "give a text or a token file"
	case errors.As(err, &bug):
		return exitError, bug.Error(), "report it with the command line"
	case errors.Is(err, context.Canceled):
		return exitInterrupted, "interrupted", ""
	default:
		return classifySystem(err)
	}
}

// classifySystem is for what the operating system refused.
func classifySystem(err error) (code int, cause, remedy string) {
	cause = err.Error()
	switch {
	case errors.Is(err, syscall.EISDIR):
		return exitMissing, cause, "name a file in it"
	case errors.Is(err, fs.ErrNotExist):
		return exitMissing, cause, "check the path"
	case errors.Is(err, fs.ErrPermission):
		return exitPermission, cause, "ask its owner for access, or write elsewhere"
	case errors.Is(err, syscall.ENOSPC):
		return exitError, cause, "make room, or write elsewhere"
	default:
		return exitError, cause, "see memtrain --help"
	}
}
