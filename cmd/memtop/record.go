package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"memtop/cmd/command"
	"memtop/probe"
	"memtop/snapshots/analysis"
)

func (a *app) recordCommand() *cobra.Command {
	var output string
	var force bool
	var o probe.RecordOptions
	cmd := &cobra.Command{
		Use:   "record PID -o OUT.mtr",
		Short: "Save what a process tells of itself, to look at it later",
		Long: `Save the live stream of a process until it ends or you press Ctrl-C. memtop open
shows the recording like the process itself, from its first event to its last.
The file is whole at any time, also while it grows.`,
		Example: `  memtop record 4711 -o run.mtr
  memtop record 4711 -o run.mtr --for 30s
  memtop record 4711 -o run.mtr --steps 100 && memtop open run.mtr`,
		Args:              oneProcess(1),
		ValidArgsFunction: completeProcess,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case output == "":
				return usage(cmd, "-o must name the file to write")
			case o.For < 0 || o.Steps < 0:
				return usage(cmd, "--for and --steps are more than nothing")
			}
			return a.record(cmd.Context(), args[0], output, force, o)
		},
	}
	a.liveFlags(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write, - for standard output")
	cmd.Flags().BoolVar(&force, "force", false, "write over a file that is there")
	cmd.Flags().DurationVar(&o.For, "for", 0, "end after this `DURATION`, such as 30s")
	cmd.Flags().Int64Var(&o.Steps, "steps", 0, "end after `N` steps")
	return cmd
}

// record writes to the file itself and not to one beside it: what is there can
// be read at any time, and stays if memtop is killed.
func (a *app) record(ctx context.Context, target, output string, force bool, o probe.RecordOptions) error {
	o.Interval = time.Duration(a.settings.interval)
	command.GiveWay()
	r, err := probe.NewRecorder(ctx, target, o)
	if err != nil {
		return err
	}
	if output == "-" {
		_, err := r.Run(ctx, a.stdout.Raw())
		return err
	}
	f, err := create(output, force)
	if err != nil {
		return err
	}
	if isTerminal(a.stderr) {
		fmt.Fprintf(a.stderr, "recording process %s to %s; Ctrl-C ends it\n", target, output)
	}
	kept, err := r.Run(ctx, f)
	err = errors.Join(err, f.Close())
	if err != nil && kept.Bytes == 0 && !force {
		_ = os.Remove(output) // nothing came to be recorded
	}
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "wrote %s: %s steps, %s; %s\n",
			output, analysis.Count(int(kept.Steps)), analysis.Bytes(kept.Bytes), kept.Reason)
	}
	return err
}

// create makes a file. One that is there is only written over by force.
func create(path string, force bool) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, command.Usage(path+" exists", "--force to write over it, or another name")
	}
	return f, err
}
