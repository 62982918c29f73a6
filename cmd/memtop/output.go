package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/output"
)

// standardOutput is the path that means standard output.
const standardOutput = "-"

// outputFlags adds the flags of commands that write a file. Before the command
// begins, it checks whether the file may be written.
func outputFlags(cmd *cobra.Command, to *output.File) {
	f := cmd.Flags()
	f.StringVarP(&to.Path, "output", "o", "", "`FILE` to write, - for standard output")
	f.BoolVar(&to.Overwrite, "force", false, "replace an existing file")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		switch to.Path {
		case "":
			return usage(cmd, "-o must name the file to write, - for standard output")
		case standardOutput:
			return nil
		}
		to.Inputs = output.Inputs(args...)
		return to.Check()
	}
}

// while returns a writer that fails once ctx is cancelled, so that a long export
// ends and its unfinished file is removed.
func while(ctx context.Context, w io.Writer) io.Writer { return cancellable{ctx, w} }

type cancellable struct {
	ctx context.Context
	w   io.Writer
}

// Write writes unless the context is cancelled.
func (c cancellable) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}
