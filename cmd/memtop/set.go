package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/remote"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

func (a *app) setCommand() *cobra.Command {
	var wait, undo bool
	cmd := &cobra.Command{
		Use:   "set PID [KEY=VALUE...]",
		Short: "Change settings of a process's next step, and print the effect",
		Long: `Change settings of the next step of a process, such as checkpoint, amp and optimizer
of memtrain, and print the predicted effect. With --wait memtop also measures the
effect, over a few steps before and after.

With --undo and no KEY=VALUE, every setting gets the value back that it had when the
process began, whoever changed it; those of a job in all of its ranks.`,
		Example: `  memtop set 4711 checkpoint=block
  memtop set 4711 amp=bf16 checkpoint=none --wait --json
  memtop set 4711 --undo`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 || len(args) == 1 && !undo:
				return usage(cmd, "it needs a process and at least one KEY=VALUE, or --undo")
			case len(args) > 1 && undo:
				return usage(cmd, "--undo takes no KEY=VALUE")
			}
			_, err := readChanges(cmd, args[1:])
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted, err := readChanges(cmd, args[1:])
			if err != nil {
				return err
			}
			return a.viewer.set(cmd.Context(), args[0], wanted, wait)
		},
	}
	a.settings.liveFlags(cmd.Flags())
	a.settings.jsonFlag(cmd.Flags())
	cmd.Flags().BoolVar(&undo, "undo", false, "set back what was changed since the process began")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until enough steps have passed, and print the measured effect")
	return cmd
}

func readChanges(cmd *cobra.Command, args []string) ([]trace.Value, error) {
	var wanted []trace.Value
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, usage(cmd, fmt.Sprintf("%q is not of the form KEY=VALUE", arg))
		}
		for _, other := range wanted {
			if other.Key == key {
				return nil, usage(cmd, fmt.Sprintf("%s is given twice", key))
			}
		}
		wanted = append(wanted, trace.Value{Key: key, Value: value})
	}
	return wanted, nil
}

// set changes settings, or undoes all changes if none are wanted, and waits until
// that takes effect, or until it is measured.
func (v *viewer) set(ctx context.Context, target string, wanted []trace.Value, wait bool) error {
	c, err := v.dial(ctx, target)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()           // what was to be changed is changed
	if _, err = v.looked(ctx, c); err != nil { // before that, a program refuses what it cannot judge
		return err
	}
	var made []analysis.Experiment
	if len(wanted) > 0 {
		made, err = v.change(ctx, c, wanted, wait)
	} else {
		made, err = v.undo(ctx, c, wait)
	}
	if err != nil {
		return err
	}
	r := report.NewChanges(made)
	switch {
	case len(made) == 0 && !v.settings.json:
		fmt.Fprintf(v.stdout, "nothing to undo: process %d has the settings with which it began\n", c.Process().PID)
	case v.settings.json || len(r.Change) > 0:
		err = v.print(r)
	}
	if err == nil {
		err = refusal(c.Trace(), made)
	}
	return err
}

// change changes settings and returns the results.
func (d *dialer) change(ctx context.Context, c *attach.Client, wanted []trace.Value, wait bool) ([]analysis.Experiment, error) {
	changes, err := c.Change(ctx, wanted)
	if err != nil {
		return nil, err
	}
	return d.settled(ctx, c, changes, wait)
}

// settled waits until the changes are applied or refused. With all set, it waits
// until their measurements are complete.
func (d *dialer) settled(ctx context.Context, c *attach.Client, changes []trace.Change, all bool) ([]analysis.Experiment, error) {
	if all && isTerminal(d.stderr) {
		fmt.Fprintln(d.stderr, "waiting for steps to settle; Ctrl-C leaves the change as it is")
	}
	var made []analysis.Experiment
	t, err := attach.Until(ctx, c, func(t *trace.Trace) bool {
		made = experiments(t, changes)
		waiting := len(made) < len(changes)
		for i := range made {
			waiting = waiting || made[i].State == trace.Pending || all && !made[i].Done()
		}
		return !waiting
	})
	var stuck attach.StuckError
	switch pid := c.Process().PID; {
	case errors.Is(err, attach.ErrEnded):
		return nil, fmt.Errorf("process %d: %s", pid, t.Live.Note)
	case errors.As(err, &stuck):
		return nil, command.Failure{
			Code: command.ExitError, Cause: fmt.Sprintf("process %d: %v since the change was asked for", pid, stuck),
			Remedy: fmt.Sprintf("memtop attach %s --page experiments shows what becomes of it", remote.Word(c.Process().Target())),
		}
	}
	return made, err
}

// deviceOf returns the device of the last step whose memory was measured: of others the
// agent says none but the first.
func deviceOf(t *trace.Trace) int {
	for _, s := range slices.Backward(t.Steps) {
		if s.Measured() {
			return s.Device
		}
	}
	return 0
}

// experiments returns the known results of the changes.
func experiments(t *trace.Trace, changes []trace.Change) []analysis.Experiment {
	var made []analysis.Experiment
	for _, e := range analysis.Experiments(t, deviceOf(t)) {
		for i := range changes {
			if changes[i].ID == e.ID {
				made = append(made, e)
			}
		}
	}
	return made
}

// refusal returns an error if a change was refused.
func refusal(t *trace.Trace, made []analysis.Experiment) error {
	for i := range made {
		if e := &made[i]; e.State == trace.Refused {
			cause := fmt.Sprintf("%s=%s is refused: %s", e.Key, e.To, e.Reason)
			return command.Failure{Code: command.ExitUsage, Cause: cause, Remedy: allowed(t.Live.Options, e)}
		}
	}
	return nil
}

// allowed returns the possible values for a refused setting.
func allowed(options []trace.Option, e *analysis.Experiment) string {
	var keys []string
	for i := range options {
		o := &options[i]
		keys = append(keys, o.Key)
		values := strings.Join(o.Choices, ", ")
		switch {
		case o.Key != e.Key:
		case values == "":
			return "give another value"
		case strings.Contains(e.Reason, values):
			return "give one of these"
		case o.Free:
			return o.Key + " takes " + values + ", or another value"
		default:
			return o.Key + " takes " + values
		}
	}
	return "what can be set is " + strings.Join(keys, ", ")
}
