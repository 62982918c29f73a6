package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/engine/replay"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

func (a *app) adviseCommand() *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "advise PID|FILE",
		Short: "Print what would reduce a job's memory, in bytes, best first",
		Long: `For a running process, print what each of its settings would save, and how many
samples fit. The setting that saves most comes first. The process rehearses each
change beside its training; nothing is changed.

--apply makes the first change from the next step on.

For a file, print what its stacks prove.

For both, memtop replays the recorded requests under other allocator settings, if
the replay is exact, and prints what a process started with them would reserve. It
also names memory that is of no use: weights in two precisions, duplicates, gradients
that outlive their step, optimizer state without a gradient, rounding. A trace does
not record reads, so memtop cannot find a tensor that is created and never read.`,
		Example: `  memtop advise 4711
  memtop advise 4711 --apply
  memtop advise snapshot.pickle --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return usage(cmd, "it needs one process or file")
			case !isLive(args[0]) && apply:
				return usage(cmd, "--apply is for a process: a file can be asked nothing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if isLive(args[0]) {
				return a.viewer.advise(cmd.Context(), args[0], apply)
			}
			return a.files.adviseFile(cmd.Context(), args[0])
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "make the first change")
	a.settings.intervalFlag(cmd.Flags())
	a.settings.readFlags(cmd.Flags())
	a.settings.remoteFlags(cmd.Flags())
	a.settings.deviceFlag(cmd.Flags())
	a.settings.jsonFlag(cmd.Flags())
	return cmd
}

// adviseFile prints changes that would lower the memory in a file.
func (l *loader) adviseFile(ctx context.Context, path string) error {
	t, err := l.chosenTrace(ctx, path)
	if err != nil {
		return err
	}
	r := report.FileAdvice(t)
	if err := addAllocator(ctx, r, t, 0); err != nil {
		return err
	}
	return l.print(r)
}

// addAllocator adds the memory that the recorded requests would take under other
// settings of the allocator. The device's memory is given, 0 if it is not known.
func addAllocator(ctx context.Context, r *report.Advice, t *trace.Trace, memory int64) error {
	for i := range t.Devices {
		d := &t.Devices[i]
		answer, err := replay.Answer(ctx, whatif.Question{Trace: t, Device: d, Memory: memory})
		if err != nil {
			return err
		}
		r.AddAllocator(d.ID, answer)
	}
	return nil
}

// advise asks a process for advice, and applies the first change if that is wanted.
func (v *viewer) advise(ctx context.Context, target string, apply bool) error {
	c, err := v.dial(ctx, target)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // what was to be changed is changed
	t, err := v.measured(ctx, c)
	if err != nil {
		return err
	}
	found, err := proposals.Find(ctx, c, t.Live.Options)
	if err != nil {
		return err
	}
	r := report.NewAdvice(t, found)
	if err := v.addReplayed(ctx, r, target, found); err != nil {
		return err
	}
	wanted := firstOf(found)
	var refused error
	if apply && len(wanted) > 0 {
		if r.Applied, refused, err = v.applied(ctx, c, wanted); err != nil {
			return err
		}
	}
	if err := v.print(r); err != nil {
		return err
	}
	return refused
}

// addReplayed adds the memory that the process's recorded events would take under
// other settings of the allocator. A process that writes no snapshot has no
// events to replay.
func (d *dialer) addReplayed(ctx context.Context, r *report.Advice, target string, found *proposals.Answer) error {
	events, err := d.now(ctx, target)
	if err != nil {
		return ctx.Err()
	}
	memory := int64(0)
	if found.Headroom != nil {
		memory = found.Headroom.Capacity
	}
	return addAllocator(ctx, r, events, memory)
}

// hasAgent reports whether a program runs our agent: a PyTorch program.
func hasAgent(t *trace.Trace) bool { return strings.HasPrefix(t.Info.Writer, "memtop's agent") }

// measured returns the trace of a process that has measured a step.
func (d *dialer) measured(ctx context.Context, c *attach.Client) (*trace.Trace, error) {
	t, err := d.looked(ctx, c)
	switch {
	case err != nil || anyMeasured(t):
		return t, err
	case hasAgent(t):
		return nil, unseen(c.Process(), t)
	}
	return attach.Until(ctx, c, anyMeasured)
}

// anyMeasured reports whether any step was measured: a program that measures only
// some steps knows nothing about the others except that they ran.
func anyMeasured(t *trace.Trace) bool {
	return slices.ContainsFunc(t.Steps, func(s trace.Step) bool { return s.Measured() })
}

// firstOf returns the best change, none if no change saves memory.
func firstOf(found *proposals.Answer) []trace.Value {
	if useful := found.Useful(); len(useful) > 0 {
		return []trace.Value{useful[0].Change}
	}
	return nil
}

// applied makes changes. It returns their results, and an error if the program
// refused one.
func (d *dialer) applied(ctx context.Context, c *attach.Client, wanted []trace.Value) (r *report.Changes, refused, err error) {
	made, err := d.change(ctx, c, wanted, false)
	if err != nil {
		return nil, nil, fmt.Errorf("applying the advice: %w", err)
	}
	return report.NewChanges(made), refusal(c.Trace(), made), nil
}
