// Command memtop shows what holds GPU memory, in a terminal.
//
// It joins the packages of this module. A command reads its flags, and opens
// files with package snapshots or attaches to processes with package probe. It
// then asks package analysis, and prints the answer or passes it to the screens
// of package tui. The command has no logic of its own.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/memtop/rehearse"
	"github.com/memtop/memtop/probe/inject"
	"github.com/memtop/memtop/probe/sensor"
)

func main() {
	inject.Attend()
	sensor.Attend()
	if filepath.Base(os.Args[0]) == trainer {
		os.Exit(train())
	}
	if os.Args[0] == rehearse.Tidies && len(os.Args) == 2 {
		os.Exit(rehearse.TidyAfter(os.Args[1]))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// grace is how long a command may take to end by itself after a signal. A read
// from standard input cannot be cancelled, so memtop does not wait longer.
const grace = time.Second

// run runs memtop and returns the exit code. It has reported every failure in one
// line on stderr.
func run(args []string, stdout, stderr io.Writer) int {
	a := newApp(stdout, stderr)
	return a.supervise(func(ctx context.Context) error { return a.execute(ctx, args) })
}

// supervise runs work until it is done or a signal ends it, and returns the exit
// code.
func (a *app) supervise(work func(context.Context) error) int {
	ctx, stop := command.WithSignals(context.Background())
	defer stop()
	done := make(chan error, 1) // written once, by the goroutine below
	go func() { done <- a.guarded(ctx, work) }()
	select {
	case err := <-done:
		return a.end(command.Because(ctx, err))
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return a.end(command.Because(ctx, err))
	case <-time.After(grace):
		// Work that cannot be cancelled still owns the app, so the app must not
		// be used.
		code, line := describe(context.Cause(ctx))
		briefly(func() {
			a.display.Load().restore()
			fmt.Fprintln(command.NewOutput(a.stderr.Raw()), "memtop: "+line)
		})
		return code
	}
}

// end reports how the command ended and returns the exit code.
func (a *app) end(err error) int {
	defer a.close()
	if err == nil {
		return command.ExitOK
	}
	code, line := describe(err)
	a.log.Info("failed", "error", err, "code", code)
	fmt.Fprintln(a.stderr, "memtop: "+line)
	return code
}

// guarded runs work. A panic is a bug in memtop; guarded turns it into an error,
// so that a user who did not ask for a log sees no stack.
func (a *app) guarded(ctx context.Context, work func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			a.log.Error("panic", "value", r, "stack", string(debug.Stack()))
			err = command.BugError{Program: "memtop", Value: r}
		}
	}()
	return work(ctx)
}

// execute runs a command.
func (a *app) execute(ctx context.Context, args []string) error {
	root := a.root()
	args, err := meant(root, args)
	if err != nil {
		return err
	}
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	return a.files.cut
}
