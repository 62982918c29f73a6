package main

import (
	"context"

	"github.com/spf13/cobra"

	"memtop/snapshots/analysis"
)

func (a *app) diffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "Print what grew, shrank, appeared and vanished between two snapshots",
		Args:  files(2, 2),
		RunE:  func(cmd *cobra.Command, paths []string) error { return a.diff(cmd.Context(), paths[0], paths[1]) },
	}
	a.readFlags(cmd.Flags())
	a.deviceFlag(cmd.Flags())
	a.jsonFlag(cmd.Flags())
	return cmd
}

func (a *app) diff(ctx context.Context, before, after string) error {
	first, err := a.trace(ctx, before)
	if err != nil {
		return err
	}
	second, err := a.trace(ctx, after)
	if err != nil {
		return err
	}
	if first, err = a.chosen(first); err != nil {
		return err
	}
	if second, err = a.chosen(second); err != nil {
		return err
	}
	diff := analysis.NewDiff(first, second)
	if a.settings.json {
		return a.printJSON(diff)
	}
	return diff.Text(a.stdout, a.width())
}
