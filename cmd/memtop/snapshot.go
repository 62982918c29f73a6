package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"memtop/cmd/command"
)

func (a *app) snapshotCommand() *cobra.Command {
	var output string
	var force bool
	cmd := &cobra.Command{
		Use:   "snapshot PID -o OUT.pickle",
		Short: "Have a process write its memory in PyTorch's snapshot format",
		Long: `Have a process write its memory in PyTorch's snapshot format. What it sends is
read as memtop open would: only a snapshot that is whole is written.`,
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
	a.readFlags(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write, - for standard output")
	cmd.Flags().BoolVar(&force, "force", false, "write over a file that is there")
	return cmd
}

// snapshot writes a snapshot that is known to be one: to a file by way of another
// file, and to standard output when all of it has come.
func (a *app) snapshot(ctx context.Context, target, output string, force bool) error {
	if output == "-" {
		return a.snapshotToPipe(ctx, target)
	}
	if info, err := os.Stat(output); err == nil && info.Mode().IsRegular() && !force {
		return command.Usage(output+" exists", "--force to write over it, or another name")
	}
	return replace(output, func(w io.Writer) error {
		_, err := a.fetch(ctx, target, w)
		return err
	})
}

func (a *app) snapshotToPipe(ctx context.Context, target string) error {
	f, err := os.CreateTemp("", "memtop-*.pickle")
	if err != nil {
		return err
	}
	_ = os.Remove(f.Name()) // where the system lets a file be used without a name, a kill leaves nothing
	defer func() {
		_ = f.Close() // what was written is read already
		_ = os.Remove(f.Name())
	}()
	if _, err := a.fetch(ctx, target, f); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(while(ctx, a.stdout.Raw()), f)
	return err
}
