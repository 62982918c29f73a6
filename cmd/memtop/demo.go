package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/memtrain/program"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// trainer is the name under which this executable is memtrain, see
// docs/decisions/0006.
const trainer = "memtrain"

func (a *app) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo [-- FLAGS OF memtrain]",
		Short: "Train a small model on this machine and attach to it; no GPU is needed",
		Long: `Train a small transformer on this machine's processor, whose memory is the device
here, and attach to it. Leaving ends both.

Press C to turn checkpointing on from the next step, A for mixed precision, U to
undo; 8 shows what each did. What follows -- goes to memtrain.`,
		Example: `  memtop demo
  memtop demo -- --leak cache
  memtop demo -- --layers 8 --dim 256`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return usage(cmd, fmt.Sprintf("%q is not a flag of demo; those of memtrain follow --", args[0]))
			}
			return a.demo(cmd.Context(), args)
		},
	}
	a.liveFlags(cmd.Flags())
	a.jsonFlag(cmd.Flags())
	a.screenFlags(cmd)
	cmd.Flags().Lookup("once").Usage = "print one state, after a few steps, and exit"
	cmd.Flags().BoolVar(&a.settings.readOnly, "read-only", false, "turn off the keys that change the process")
	return cmd
}

// demo trains in a child process and attaches to it.
func (a *app) demo(ctx context.Context, flags []string) error {
	child, err := startTrainer(flags)
	if err != nil {
		return err
	}
	defer child.end()
	c, err := child.attach(ctx, a)
	if err != nil {
		return err
	}
	if a.settings.once || a.settings.json || !isTerminal(a.stdout) {
		defer func() { _ = c.Close() }() // it was only read from
		t, err := untilStep(ctx, c, demoSteps)
		if err != nil {
			return err
		}
		return a.printLive(t)
	}
	return a.showLive(ctx, c, true)
}

// demoSteps is how many steps are awaited before one state is printed: by then
// the allocator has what it needs.
const demoSteps = 3

// untilStep waits until so many steps have ended, or the process has.
func untilStep(ctx context.Context, c followed, step int64) (*trace.Trace, error) {
	t, err := until(ctx, c, func(t *trace.Trace) bool { return lastStep(t) >= step })
	if errors.Is(err, errEnded) {
		return t, nil // how it was at its end
	}
	return t, err
}

// child is a running trainer.
type child struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer  // may be read once done is closed
	done   chan struct{} // closed when the process has ended
}

// startTrainer runs this executable as memtrain.
func startTrainer(flags []string) (*child, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding memtop's own executable: %w", err)
	}
	c := &child{cmd: exec.Command(path), done: make(chan struct{})} //nolint:noctx // end ends it, with time to finish its step
	c.cmd.Args = append([]string{trainer, "--steps", "0"}, flags...)
	c.cmd.Stderr = &c.stderr
	endWithParent(c.cmd)
	started := make(chan error) // closed by run when the process is there, or has the reason why not
	go c.run(started)
	return c, <-started
}

// run starts the process and waits for it, on one thread: the system ends the
// child when the thread that started it does.
func (c *child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	if err := c.cmd.Start(); err != nil {
		started <- fmt.Errorf("starting the trainer: %w", err)
		return
	}
	close(started)
	_ = c.cmd.Wait() // its probe and its standard error say what became of it
}

// The times that a child is given.
const (
	demoBegin = 20 * time.Second      // to have a probe
	demoLook  = 20 * time.Millisecond // between two looks whether it has
	demoEnd   = 3 * time.Second       // to finish the step under way
)

// attach dials the child as soon as it has a probe.
func (c *child) attach(ctx context.Context, a *app) (*attach.Client, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, demoBegin, errors.New("the trainer does not begin"))
	defer cancel()
	look := time.NewTicker(demoLook)
	defer look.Stop()
	for {
		client, err := a.dialWith(ctx, strconv.Itoa(c.cmd.Process.Pid), attach.DialOptions{NoRestart: true}) // it is not restarted
		var none *attach.NoProbeError
		if err == nil || !errors.As(err, &none) && !errors.Is(err, os.ErrNotExist) {
			return client, err
		}
		select {
		case <-look.C:
		case <-c.done:
			return nil, c.failure()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// trainerError is the trainer's own line about its failure.
type trainerError struct {
	code int
	line string
}

func (e trainerError) Error() string { return e.line }

// failure returns why a child that has ended did so.
func (c *child) failure() error {
	line := strings.TrimSpace(strings.TrimPrefix(c.stderr.String(), trainer+": "))
	if line == "" {
		return errors.New("the trainer ended before it could be attached to")
	}
	return trainerError{c.cmd.ProcessState.ExitCode(), line}
}

// end ends the child and waits for it.
func (c *child) end() {
	if interrupt(c.cmd.Process) == nil {
		select {
		case <-c.done:
			return
		case <-time.After(demoEnd):
		}
	}
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.done
}

// train is memtrain.
func train() int { return program.Run(os.Args[1:], os.Stdout, os.Stderr, program.Reach{}) }
