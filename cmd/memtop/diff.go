package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// moments are the two moments that diff compares.
type moments struct {
	from, to analysis.Moment
	given    bool // else the ends are, and the histories
}

func (a *app) diffCommand() *cobra.Command {
	var limit command.Size
	var m moments
	cmd := &cobra.Command{
		Use:   "diff BEFORE [AFTER]",
		Short: "Print what grew, shrank, appeared and vanished between two snapshots or moments, and why",
		Long: `Print what grew, shrank, appeared and vanished between two snapshots, or between two
moments of one: by cause, by category, by line of the program, by module, and by time
of allocation. Without --at and --to, compare the ends and the histories.

memtop counts causes: allocations of a line that all changed their sizes by one factor
(mixed precision, another batch size), copies by autocast, memory of the same sizes
from another line, memory that the other side holds at another moment of its step, and
memory that only one side has. The causes sum to the difference. Lines are the same if
file, line and function are, even if the program lies in another folder.`,
		Example: `  memtop diff fp32.pickle amp.pickle --at peak
  memtop diff snapshot.pickle --at peak --to end
  memtop diff before.pickle after.pickle --at 3400 --to 5100 --json`,
		Args: files(1, 2),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := m.read(cmd, paths); err != nil {
				return err
			}
			diff, err := a.files.diff(cmd.Context(), paths, m)
			if err != nil || !cmd.Flags().Changed("max-growth") {
				return err
			}
			return growth(diff, limit)
		},
	}
	a.settings.readFlags(cmd.Flags())
	a.settings.deviceFlag(cmd.Flags())
	a.settings.jsonFlag(cmd.Flags())
	cmd.Flags().Var(&m.from, "at", "MOMENT to compare: peak, end, or the number of an event")
	cmd.Flags().Var(&m.to, "to", "the moment of AFTER (default: the moment of --at)")
	complete(cmd, "at", []string{"peak", "end"})
	complete(cmd, "to", []string{"peak", "end"})
	cmd.Flags().Var(&limit, "max-growth", "exit with code 10 if the peak of a device grew by more than this")
	return cmd
}

// read reads the flags.
func (m *moments) read(cmd *cobra.Command, paths []string) error {
	at, to := cmd.Flags().Changed("at"), cmd.Flags().Changed("to")
	m.given = at || to
	switch {
	case to && !at:
		return usage(cmd, "--to is the second moment, so --at must say the first")
	case len(paths) == 1 && !to:
		return usage(cmd, "it needs 2 files, or --at and --to for two moments of one")
	case m.given && cmd.Flags().Changed("max-growth"):
		return usage(cmd, "--max-growth is about the peaks, whatever the moments are: leave --at out")
	case !to:
		m.to = m.from
	}
	return nil
}

// diff prints the difference between two files, or moments of one, and returns it.
func (l *loader) diff(ctx context.Context, paths []string, m moments) (*report.Diff, error) {
	var traces []*trace.Trace
	for _, path := range paths {
		t, err := l.trace(ctx, path)
		if err != nil {
			return nil, err
		}
		if t, err = l.settings.chosen(t); err != nil {
			return nil, err
		}
		traces = append(traces, t)
	}
	before, after := traces[0], traces[len(traces)-1]
	var diff *report.Diff
	if m.given {
		var err error
		if diff, err = report.NewDiffAt(before, m.from, after, m.to); err != nil {
			return nil, momentUsage(err)
		}
	} else {
		diff = report.NewDiff(before, after)
	}
	return diff, l.print(diff)
}

// growth returns an error if the peak of a device grew by more than limit.
func growth(diff *report.Diff, limit command.Size) error {
	for i := range diff.Devices {
		device := &diff.Devices[i]
		for _, n := range device.Numbers {
			if n.Name == "peak requested" && n.Delta() > int64(limit) {
				return exceeded(
					fmt.Sprintf("the peak of device %d grew by %d bytes, more than the %s of --max-growth", device.Device, n.Delta(), &limit),
					"find the lines that grew in the diff",
				)
			}
		}
	}
	return nil
}
