// Command memtop shows what holds GPU memory, in a terminal.
//
// It joins the packages of this module: a command reads its flags, opens files
// with package snapshots or attaches to processes with package probe, asks
// package analysis, and prints the answer or hands it to the screens of package
// tui. It has no logic of its own.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"memtop/cmd/command"
)

func main() {
	if filepath.Base(os.Args[0]) == trainer {
		os.Exit(train())
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// grace is how long an interrupted command may take to end by itself. A read
// from standard input cannot be called off, so it is not waited for longer.
const grace = time.Second

// run is the whole program. It returns the exit code; every failure has been
// told in one line on stderr.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := &app{
		stdout: command.NewOutput(stdout), stderr: command.NewOutput(stderr),
		log: discardLog(), settings: settings{interval: interval(defaultInterval)},
	}
	done := make(chan error, 1) // written once, by the goroutine below
	go func() { done <- a.execute(ctx, args) }()
	select {
	case err := <-done:
		return a.end(err)
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return a.end(err)
	case <-time.After(grace):
		// A read that cannot be called off still owns the app; leave it alone.
		code, line := describe(ctx.Err())
		fmt.Fprintln(command.NewOutput(stderr), "memtop: "+line)
		return code
	}
}

// end tells how the command ended and returns the exit code.
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

// execute runs a command. A panic is a bug of memtop's; it becomes an error, so
// that nobody is shown a stack unless they asked for a log.
func (a *app) execute(ctx context.Context, args []string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			a.log.Error("panic", "value", r, "stack", string(debug.Stack()))
			err = command.BugError{Program: "memtop", Value: r}
		}
	}()
	root := a.root()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	if a.cut.path != "" {
		return a.cut
	}
	return nil
}
