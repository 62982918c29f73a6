package main

import (
	"cmp"
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
		Short: "Save the live stream of a process, to look at it later",
		Long: `Save the live stream of a process until the process ends, or until Ctrl-C or another
signal. memtop open shows the recording like the process itself, from its first event
to its last. The file is a valid recording at any time, even while it grows.

A PyTorch program measures only some steps; --steps counts these. After
memtop set PID look=every it measures every step, whatever that costs.`,
		Example: `  memtop record 4711 -o run.mtr
  memtop record 4711 -o run.mtr --for 30s
  memtop record 4711 -o run.mtr --steps 100 && memtop open run.mtr`,
		Args: oneProcess(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.For < 0 || o.Steps < 0 {
				return usage(cmd, "--for and --steps are more than nothing")
			}
			return a.record(cmd.Context(), args[0], to, o)
		},
	}
	a.settings.liveFlags(cmd.Flags())
	outputFlags(cmd, &to)
	cmd.Flags().DurationVar(&o.For, "for", 0, "end after this `DURATION`, such as 30s")
	cmd.Flags().Int64Var(&o.Steps, "steps", 0, "end after `N` steps whose memory was measured")
	return cmd
}

// record writes a recording of a process. It writes to the file itself and not to
// a temporary file, so that the recording can be read at any time and stays if
// memtop is killed.
func (d *dialer) record(ctx context.Context, target string, to output.File, o attach.RecordOptions) error {
	o.Interval = time.Duration(d.settings.interval)
	command.GiveWay()
	m, process, err := d.machines.On(ctx, target)
	if err != nil {
		return err
	}
	r, err := m.Record(ctx, process, o)
	if err != nil {
		return err
	}
	if to.Path == standardOutput {
		kept, err := r.Run(ctx, d.stdout.Raw())
		return cmp.Or(err, eventless("the recording", kept))
	}
	f, err := to.Create()
	if err != nil {
		return err
	}
	if isTerminal(d.stderr) {
		fmt.Fprintf(d.stderr, "recording process %s to %s; Ctrl-C ends it\n", target, to.Path)
	}
	kept, err := r.Run(ctx, f)
	info, _ := f.Stat() // nil if it is not known
	err = errors.Join(err, f.Close())
	if err != nil && kept.Bytes == 0 && !to.Overwrite && info != nil && info.Mode().IsRegular() {
		_ = os.Remove(f.Name()) // nothing came to be recorded
	}
	if err == nil {
		_, err = fmt.Fprintf(d.stdout, "wrote %s: %s, %s; %s\n", to.Path, whatIsIn(kept), quantity.Bytes(kept.Bytes), kept.Reason)
	}
	return cmp.Or(err, eventless(to.Path, kept))
}

// whatIsIn describes the content of a recording.
func whatIsIn(kept attach.Recorded) string {
	steps := quantity.Plural(int(kept.Steps), "step")
	switch {
	case kept.Events > 0:
		return steps + ", " + quantity.Plural(int(kept.Events), "event")
	case kept.Snapshots:
		return steps + ", snapshots of the allocator"
	}
	return steps + ", no event"
}

// eventless returns an error if a recording has steps but no event, because such
// a recording shows only one moment. A program that did nothing meanwhile has no
// more to record.
func eventless(path string, kept attach.Recorded) error {
	if kept.Steps == 0 || kept.Events > 0 || kept.Snapshots {
		return nil
	}
	return command.Failure{
		Code: command.ExitError, Cause: path + " has steps and no event: the program reported none of its memory meanwhile",
		Remedy: "record for longer, such as --for 1m, while the program works",
	}
}
