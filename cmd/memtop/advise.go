package main

import (
	"context"

	"github.com/spf13/cobra"

	"memtop/snapshots/analysis"
	"memtop/snapshots/analysis/advisor"
	"memtop/snapshots/report"
	"memtop/snapshots/trace"
)

func (a *app) adviseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "advise PID",
		Short: "What would make a job's memory less, in bytes and time, the best first",
		Long: `Ask a running process about every setting that it offers, one at a time, and
print what each would save and cost: the most bytes for a millisecond first.
Nothing is changed. The process rehearses each change beside its training.`,
		Example: `  memtop advise 4711
  memtop advise 4711 --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, "it needs one process")
			}
			return nil
		},
		ValidArgsFunction: completeProcess,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.advise(cmd.Context(), args[0])
		},
	}
	a.liveFlags(cmd.Flags())
	a.jsonFlag(cmd.Flags())
	return cmd
}

// advise asks a process and prints what it found.
func (a *app) advise(ctx context.Context, target string) error {
	c, err := a.dial(ctx, target)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // it was only asked
	t, err := until(ctx, c, func(t *trace.Trace) bool { return len(t.Steps) > 0 })
	if err != nil {
		return err
	}
	found, err := advisor.Find(ctx, t.Live.Options, ledger(t), c.Predict)
	if err != nil {
		return err
	}
	r := report.NewAdvice(t, found)
	if a.settings.json {
		return a.printJSON(r)
	}
	return r.Text(a.stdout, a.width())
}

// ledger is what became of the predictions that a process made so far.
func ledger(t *trace.Trace) advisor.Ledger {
	return advisor.LedgerOf(analysis.Experiments(t, t.Steps[len(t.Steps)-1].Device))
}
