package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/snapshots/trace"
)

func (a *app) snapshotCommand() *cobra.Command {
	var to output.File
	var now bool
	cmd := &cobra.Command{
		Use:   "snapshot PID -o OUT.pickle",
		Short: "Save a process's memory in PyTorch's snapshot format",
		Long: `Save a process's memory in PyTorch's snapshot format. memtop reads what the process
sends as memtop open would, and writes the file only if the snapshot is complete.

A PyTorch program records its history only while it is watched. If nobody watches
it, memtop does so until it has measured a whole step; --now saves what there is.`,
		Example: `  memtop snapshot 4711 -o now.pickle
  memtop snapshot 4711 -o - | memtop report -`,
		Args: oneProcess(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			take := a.fetchLooked
			if now {
				take = a.fetch
			}
			return a.snapshot(cmd.Context(), args[0], to, take)
		},
	}
	a.settings.readFlags(cmd.Flags())
	a.settings.remoteFlags(cmd.Flags())
	outputFlags(cmd, &to)
	cmd.Flags().BoolVar(&now, "now", false, "do not wait for a step that is measured")
	return cmd
}

// snapshot writes a snapshot after it has checked that it is one. It writes a
// file by way of a temporary file, and writes to standard output only when the
// whole snapshot has arrived.
func (d *dialer) snapshot(ctx context.Context, target string, to output.File, take fetch) error {
	if to.Path == standardOutput {
		return d.snapshotToPipe(ctx, target, take)
	}
	return to.Write(func(w io.Writer) error {
		_, err := take(ctx, target, w)
		return err
	})
}

// fetch copies the snapshot of a process to w.
type fetch func(ctx context.Context, target string, w io.Writer) (*trace.Trace, error)

func (d *dialer) snapshotToPipe(ctx context.Context, target string, take fetch) error {
	f, err := os.CreateTemp("", "memtop-*.pickle")
	if err != nil {
		return err
	}
	_ = os.Remove(f.Name()) // where the system lets a file be used without a name, a kill leaves nothing
	defer func() {
		_ = f.Close() // what was written is read already
		_ = os.Remove(f.Name())
	}()
	if _, err := take(ctx, target, f); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(while(ctx, d.stdout.Raw()), f)
	return err
}
