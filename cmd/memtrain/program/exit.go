package program

import (
	"errors"
	"fmt"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/engine/weights"
)

// usagef returns an error about a flag, with the general remedy.
func usagef(format string, values ...any) error {
	return command.Usage(fmt.Sprintf(format, values...), tryHelp)
}

const tryHelp = "try: memtrain --help"

// machineError is a failure that this machine causes.
type machineError struct{ cause, remedy string }

func (e machineError) Error() string { return e.cause }

// describe returns the exit code for an error and the line to print, which
// names the cause and one remedy.
func describe(err error) (code int, line string) {
	code, cause, remedy := classify(err)
	return code, command.Line(cause, remedy)
}

func classify(err error) (code int, cause, remedy string) {
	var (
		use     command.UsageError
		machine machineError
		bug     command.BugError
		oom     *train.OutOfMemoryError
		damaged *train.DamagedError
		format  *data.FormatError
		weight  *weights.FormatError
		ended   command.Ended
		input   *output.InputError
		lost    *collective.LostError
	)
	switch {
	case errors.As(err, &use):
		return command.ExitUsage, use.Cause, use.Remedy
	case errors.As(err, &input):
		return command.ExitUsage, input.Error(), "name another file"
	case errors.As(err, &machine):
		return command.ExitError, machine.cause, machine.remedy
	case errors.As(err, &oom):
		return command.ExitError, oom.Error(), "give more with --device-memory, or need less with --micro-batch or --checkpoint block"
	case errors.As(err, &lost):
		return command.ExitError, err.Error(), "start all again, from the last save with --resume"
	case errors.As(err, &damaged):
		return command.ExitCorrupt, damaged.Error(), "resume from another file"
	case errors.As(err, &weight):
		return command.ExitCorrupt, weight.Error(), "save it again with torch.save(model.state_dict(), FILE)"
	case errors.As(err, &format):
		return command.ExitCorrupt, format.Error(), "give a text or a token file"
	case errors.As(err, &bug):
		return command.ExitError, bug.Error(), "report it with the command line"
	case errors.As(err, &ended):
		return ended.Code(), ended.Error(), ""
	default:
		return command.System(err, "see memtrain --help")
	}
}
