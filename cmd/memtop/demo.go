package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
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
		Long: `Train a small transformer on this machine's processor and attach to it. The device
is a part of the processor's memory. Leaving memtop ends both.

C switches checkpointing on from the next step, A mixed precision; U undoes the last
change; 8 shows what each change did. Flags after -- go to memtrain.`,
		Example: `  memtop demo
  memtop demo -- --leak cache
  memtop demo -- --layers 8 --dim 256`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return usage(cmd, fmt.Sprintf("%q is not a flag of demo; those of memtrain follow --", args[0]))
			}
			return a.viewer.demo(cmd.Context(), args)
		},
	}
	a.settings.liveFlags(cmd.Flags())
	a.settings.jsonFlag(cmd.Flags())
	a.settings.screenFlags(cmd)
	cmd.Flags().Lookup("once").Usage = "print one state after a few steps, and exit"
	a.settings.readOnlyFlag(cmd.Flags())
	return cmd
}

// demo trains in a child process and attaches to it.
func (v *viewer) demo(ctx context.Context, flags []string) error {
	child, err := startTrainer(flags)
	if err != nil {
		return err
	}
	defer child.end()
	c, err := child.attach(ctx, v.dialer)
	if err != nil {
		return err
	}
	if v.settings.once || v.settings.json || !isTerminal(v.stdout) {
		defer func() { _ = c.Close() }() // it was only read from
		t, err := untilStep(ctx, c, demoSteps)
		if err != nil {
			return err
		}
		return v.printLive(t)
	}
	return v.showLive(ctx, c, true)
}

// demoSteps is how many steps memtop waits for before it prints one state: by
// then the allocator has the memory that it needs.
const demoSteps = 3

// untilStep waits until the given number of steps has ended, or the process has
// ended.
func untilStep(ctx context.Context, c attach.Followed, step int64) (*trace.Trace, error) {
	t, err := attach.Until(ctx, c, func(t *trace.Trace) bool { return attach.LastStep(t) >= step })
	if errors.Is(err, attach.ErrEnded) {
		return t, nil // how it was at its end
	}
	return t, err
}

// child is a running trainer.
type child struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer // may be read once done is closed
	done   <-chan error // closed when the process has ended
}

// startTrainer runs this executable as memtrain.
func startTrainer(flags []string) (*child, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding memtop's own executable: %w", err)
	}
	c := &child{cmd: exec.Command(path)} //nolint:noctx // end ends it, with time to finish its step
	c.cmd.Args = append([]string{trainer, "--steps", "0"}, flags...)
	c.cmd.Stderr = &c.stderr
	apart(c.cmd)
	if c.done, err = command.Start(c.cmd); err != nil {
		return nil, fmt.Errorf("starting the trainer: %w", err)
	}
	return c, nil
}

// The time limits for a child.
const (
	demoBegin = 20 * time.Second      // to have a probe
	demoLook  = 20 * time.Millisecond // between two looks whether it has
	demoEnd   = 3 * time.Second       // to finish the step under way
)

// attach dials the child as soon as it has a probe.
func (c *child) attach(ctx context.Context, d *dialer) (*attach.Client, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, demoBegin, errors.New("the trainer does not begin"))
	defer cancel()
	look := time.NewTicker(demoLook)
	defer look.Stop()
	for {
		client, err := d.dialWith(ctx, strconv.Itoa(c.cmd.Process.Pid), attach.DialOptions{NoRestart: true}) // it is not restarted
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

// failure returns the reason why a child ended.
func (c *child) failure() error {
	line := strings.TrimSpace(strings.TrimPrefix(c.stderr.String(), trainer+": "))
	if line == "" {
		return errors.New("the trainer ended before it could be attached to")
	}
	return command.Failure{Code: c.cmd.ProcessState.ExitCode(), Cause: line} // its own words
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
