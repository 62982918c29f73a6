package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/engine/replay"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/export"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// exports returns the formats that a trace can be written in, by name.
func exports() []export.Format {
	all := append(export.Formats(), export.Format{
		Name: "pickle", About: "PyTorch's own snapshot format", Extensions: []string{".pickle", ".pkl"},
		Write: func(w io.Writer, t *trace.Trace, _ export.Options) error { return pytorch.Write(w, t) },
	})
	slices.SortFunc(all, func(a, b export.Format) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func formats() string {
	var names []string
	for _, f := range exports() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// formatsTable has a line for each format: its name, what it is, its usual extension.
func formatsTable() string {
	var text strings.Builder
	for _, f := range exports() {
		fmt.Fprintf(&text, "  %-10s  %-43s  %s\n", f.Name, f.About, f.Extensions[0])
	}
	return text.String()
}

func (a *app) exportCommand() *cobra.Command {
	var format string
	var to output.File
	var options export.Options
	cmd := &cobra.Command{
		Use:   "export FILE|PID --to FORMAT -o OUT",
		Short: "Write a snapshot in another format",
		Long: `Write a snapshot in another format. Without --to, the extension of OUT chooses it:

` + formatsTable() + `
Stacks are those of the memory live at one moment: the peak, or the moment of --at. csv
has the stacks of every event. If a snapshot has no history, because PyTorch recorded
none, memtop writes the memory at the end.
OUT is written completely or not at all. memtop replaces an existing file only with
--force, and follows a link to its file.`,
		Example: `  memtop export snapshot.pickle -o report.html
  memtop export snapshot.pickle --to folded --at end -o - | flamegraph.pl > memory.svg
  memtop export snapshot.pickle -o peak.pb.gz && go tool pprof -top peak.pb.gz`,
		Args: files(1, 1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			f, err := chosenFormat(cmd, format, to.Path)
			if err != nil {
				return err
			}
			options.AtAnswer = !cmd.Flags().Changed("at")
			return a.files.export(cmd.Context(), paths[0], to, f, options)
		},
	}
	a.settings.readFlags(cmd.Flags())
	a.settings.deviceFlag(cmd.Flags())
	cmd.Flags().Lookup("device").Usage = "device `N` only (default all)"
	cmd.Flags().StringVar(&format, "to", "", "`FORMAT` to write: "+formats())
	outputFlags(cmd, &to)
	atFlag(cmd, &options.At)
	cmd.Flags().BoolVar(&options.AllFrames, "all-frames", false, "keep the frames of the interpreter and the dispatcher in stacks")
	complete(cmd, "to", strings.Split(formats(), ", "))
	return cmd
}

// atFlag adds the flag that chooses a moment.
func atFlag(cmd *cobra.Command, at *analysis.Moment) {
	cmd.Flags().Var(at, "at", "MOMENT to show: peak, end, or the number of an event")
	complete(cmd, "at", []string{"peak", "end"})
}

// chosenFormat returns the format that --to names, else the format of the
// output's extension.
func chosenFormat(cmd *cobra.Command, name, path string) (export.Format, error) {
	all := exports()
	at := slices.IndexFunc(all, func(f export.Format) bool { return f.Name == name })
	var found export.Format
	switch byExtension, ok := export.ForPath(path, all); {
	case at >= 0:
		found = all[at]
	case name != "":
		return found, usage(cmd, fmt.Sprintf("there is no format %q, only %s", name, formats()))
	case !ok:
		return found, usage(cmd, fmt.Sprintf("the name %s does not say the format, so --to must: %s", path, formats()))
	default:
		found = byExtension
	}
	switch {
	case !found.Moment && cmd.Flags().Changed("at"):
		return found, usage(cmd, fmt.Sprintf("--at is for formats that show one moment, and %s has all of them", found.Name))
	case !found.Stacks && cmd.Flags().Changed("all-frames"):
		return found, usage(cmd, fmt.Sprintf("--all-frames is for formats with stacks, and %s has none", found.Name))
	}
	return found, nil
}

func (l *loader) export(ctx context.Context, path string, to output.File, f export.Format, o export.Options) error {
	t, err := l.chosenTrace(ctx, path)
	if err != nil {
		return err
	}
	if f.Name != "pickle" { // which is the snapshot itself
		o.Index(t)
		if f.Findings {
			o.Report = report.Of(t, o.Indexes)
			if err := o.Report.Replay(ctx, replay.Answer); err != nil {
				return err
			}
		}
		for _, notice := range f.Notices(o) {
			l.note(notice)
		}
	}
	err = l.write(to, func(w io.Writer) error { return f.Write(while(ctx, w), t, o) })
	return momentUsage(err)
}

// momentUsage turns the error for a moment that a trace does not have into a
// usage error.
func momentUsage(err error) error {
	var moment *analysis.MomentError
	if errors.As(err, &moment) {
		return command.Usage(moment.Cause, moment.Remedy)
	}
	return err
}
