package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"memtop/snapshots/pytorch"
	"memtop/snapshots/trace"
)

// exports are the formats that a trace can be written in.
var exports = map[string]func(io.Writer, *trace.Trace) error{
	"pickle": pytorch.Write,
}

func formats() string {
	names := make([]string, 0, len(exports))
	for name := range exports {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (a *app) exportCommand() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "export FILE --to FORMAT -o OUT",
		Short:   "Write a snapshot in another format",
		Example: "  memtop export trace_plot.html --to pickle -o snapshot.pickle",
		Args:    files(1, 1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			write, ok := exports[format]
			switch {
			case format == "":
				return usage(cmd, "--to must say the format: "+formats())
			case !ok:
				return usage(cmd, fmt.Sprintf("there is no format %q, only %s", format, formats()))
			case output == "":
				return usage(cmd, "-o must name the file to write, - for standard output")
			}
			return a.export(cmd.Context(), paths[0], output, write)
		},
	}
	a.readFlags(cmd.Flags())
	cmd.Flags().StringVar(&format, "to", "", "`FORMAT` to write: "+formats())
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write, - for standard output")
	return cmd
}

func (a *app) export(ctx context.Context, path, output string, write func(io.Writer, *trace.Trace) error) error {
	t, err := a.trace(ctx, path)
	if err != nil {
		return err
	}
	if output == "-" {
		return write(a.stdout, t)
	}
	return replace(output, func(w io.Writer) error { return write(w, t) })
}

// replace writes a file beside path and then puts it in its place, so that
// nobody ever sees half of it.
func replace(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".memtop-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(write(w), w.Flush(), f.Chmod(0o644)); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
