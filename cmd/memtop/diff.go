package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"memtop/cmd/command"
	"memtop/snapshots/report"
	"memtop/snapshots/trace"
)

func (a *app) diffCommand() *cobra.Command {
	var limit command.Size
	cmd := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "Print what grew, shrank, appeared and vanished between two snapshots",
		Args:  files(2, 2),
		RunE: func(cmd *cobra.Command, paths []string) error {
			diff, err := a.diff(cmd.Context(), paths[0], paths[1])
			if err != nil || !cmd.Flags().Changed("max-growth") {
				return err
			}
			return growth(diff, limit)
		},
	}
	a.readFlags(cmd.Flags())
	a.deviceFlag(cmd.Flags())
	a.jsonFlag(cmd.Flags())
	cmd.Flags().Var(&limit, "max-growth", "leave with exit code 10 if the peak of a device grew by more than this")
	return cmd
}

// diff prints the difference between two files and returns it.
func (a *app) diff(ctx context.Context, before, after string) (*report.Diff, error) {
	var traces [2]*trace.Trace
	for i, path := range []string{before, after} {
		t, err := a.trace(ctx, path)
		if err != nil {
			return nil, err
		}
		if traces[i], err = a.chosen(t); err != nil {
			return nil, err
		}
	}
	diff := report.NewDiff(traces[0], traces[1])
	if a.settings.json {
		return diff, a.printJSON(diff)
	}
	return diff, diff.Text(a.stdout, a.width())
}

// growth returns an error if the peak of a device grew by more than limit.
func growth(diff *report.Diff, limit command.Size) error {
	for i := range diff.Devices {
		device := &diff.Devices[i]
		for _, n := range device.Numbers {
			if n.Name == "peak requested" && n.Delta() > int64(limit) {
				return thresholdError{
					fmt.Sprintf(
						"the peak of device %d grew by %d bytes, more than the %s of --max-growth", device.Device, n.Delta(), &limit),
					"find the stacks that grew in the diff",
				}
			}
		}
	}
	return nil
}
