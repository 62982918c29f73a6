package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"memtop/cmd/command"
	"memtop/probe"
)

func (a *app) snapshotCommand() *cobra.Command {
	var output string
	var force bool
	cmd := &cobra.Command{
		Use:   "snapshot PID -o OUT.pickle",
		Short: "Have a process write its memory in PyTorch's snapshot format",
		Example: `  memtop snapshot 4711 -o now.pickle
  memtop snapshot 4711 -o - | memtop report -`,
		Args:              oneProcess(1),
		ValidArgsFunction: completeProcess,
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return usage(cmd, "-o must name the file to write, - for standard output")
			}
			return a.snapshot(cmd.Context(), args[0], output, force)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write, - for standard output")
	cmd.Flags().BoolVar(&force, "force", false, "write over a file that is there")
	return cmd
}

func (a *app) snapshot(ctx context.Context, target, output string, force bool) error {
	write := func(w io.Writer) error { return probe.Snapshot(ctx, target, w) }
	if output == "-" {
		return write(a.stdout.Raw())
	}
	if info, err := os.Stat(output); err == nil && info.Mode().IsRegular() && !force {
		return command.Usage(output+" exists", "--force to write over it, or another name")
	}
	return replace(output, write)
}
