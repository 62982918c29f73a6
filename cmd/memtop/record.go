package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/quantity"
)

func (a *app) recordCommand() *cobra.Command {
	var to output.File
	var o attach.RecordOptions
	cmd := &cobra.Command{
		Use:   "record PID -o OUT.mtr",
		Short: "Save what a process reports, to look at it later",
		Long: `Save the live stream of a process until it ends, or until Ctrl-C or another
signal ends the recording. memtop open shows it like the process itself, from its
first event to its last. The file is whole at any time, also while it grows.`,
		Example: `  memtop record 4711 -o run.mtr
  memtop record 4711 -o run.mtr --for 30s
  memtop record 4711 -o run.mtr --steps 100 && memtop open run.mtr`,
		Args:              oneProcess(1),
		ValidArgsFunction: completeProcess,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.For < 0 || o.Steps < 0 {
				return usage(cmd, "--for and --steps are more than nothing")
			}
			return a.record(cmd.Context(), args[0], to, o)
		},
	}
	a.liveFlags(cmd.Flags())
	outputFlags(cmd, &to)
	cmd.Flags().DurationVar(&o.For, "for", 0, "end after this `DURATION`, such as 30s")
	cmd.Flags().Int64Var(&o.Steps, "steps", 0, "end after `N` steps")
	return cmd
}

// record writes to the file itself and not to one beside it: what is there can
// be read at any time, and stays if memtop is killed.
func (a *app) record(ctx context.Context, target string, to output.File, o attach.RecordOptions) error {
	o.Interval = time.Duration(a.settings.interval)
	command.GiveWay()
	m, process, err := a.on(ctx, target)
	if err != nil {
		return err
	}
	r, err := m.Record(ctx, process, o)
	if err != nil {
		return err
	}
	if to.Path == standardOutput {
		_, err := r.Run(ctx, a.stdout.Raw())
		return err
	}
	f, err := to.Create()
	if err != nil {
		return err
	}
	if isTerminal(a.stderr) {
		fmt.Fprintf(a.stderr, "recording process %s to %s; Ctrl-C ends it\n", target, to.Path)
	}
	kept, err := r.Run(ctx, f)
	info, _ := f.Stat() // nil if it is not known
	err = errors.Join(err, f.Close())
	if err != nil && kept.Bytes == 0 && !to.Overwrite && info != nil && info.Mode().IsRegular() {
		_ = os.Remove(f.Name()) // nothing came to be recorded
	}
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "wrote %s: %s steps, %s; %s\n",
			to.Path, quantity.Count(int(kept.Steps)), quantity.Bytes(kept.Bytes), kept.Reason)
	}
	return err
}
