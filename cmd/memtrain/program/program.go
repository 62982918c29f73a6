// Package program is the program memtrain: the reference training run of the
// project, and a process that memtop can attach to. It is a package so that
// memtop can also run it in a process of its own; see docs/decisions/0006.
//
// It joins the packages of the engine: it turns flags into a model, data,
// settings and a trainer, and the cost of a step into a line of text or of JSON.
// It has no logic of its own.
package program

import (
	"context"
	"fmt"
	"io"

	"github.com/memtop/memtop/cmd/command"
)

// Run runs memtrain and returns the exit code. It has reported every failure in
// one line on stderr. The first signal ends training after the current step, the
// second one ends the program.
func Run(args []string, stdout, stderr io.Writer, reach Reach) int {
	ctx, stop := command.WithSignals(context.Background())
	defer stop()
	context.AfterFunc(ctx, stop)
	told := command.NewOutput(stderr)
	err := command.Because(ctx, execute(ctx, args, command.NewOutput(stdout), told, reach))
	if err == nil {
		return command.ExitOK
	}
	code, line := describe(err)
	fmt.Fprintln(told, "memtrain: "+line)
	return code
}

// execute runs the command line. A panic is a bug; it becomes an error, so that
// users see no stack.
func execute(ctx context.Context, args []string, stdout, stderr *command.Output, reach Reach) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = command.BugError{Program: "memtrain", Value: r}
		}
	}()
	c := root(stdout, reach)
	c.SetArgs(args)
	c.SetOut(stdout)
	c.SetErr(stderr)
	return c.ExecuteContext(ctx)
}
