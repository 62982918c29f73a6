package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/replay"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

func (a *app) reportCommand() *cobra.Command {
	var options report.LinesOptions
	var allRanks bool
	cmd := &cobra.Command{
		Use:   "report FILE...|PID",
		Short: "Print the findings as text, or all numbers as JSON",
		Long: `Print what stands out and the numbers at the peak, as text or as JSON.

Of several files that are ranks of one job, as rank0.pickle and rank1.pickle are, print
a row for each and what differs between them; the JSON has the report on each too.
So it does of a process with --all-ranks.

With --by, print whose line the memory is instead: a table of what each line,
function, file or module holds itself and together with what it calls. Memory counts
for the innermost line of the program's own code: Python that is in no folder of
packages and neither PyTorch's nor the standard library's. A module is the package
that a file is in. --libraries counts it for the innermost line of all.`,
		Example: `  memtop report snapshot.pickle
  memtop report rank*.pickle
  memtop report snapshot.pickle --by line
  memtop report snapshot.pickle --by module --libraries --at end`,
		Args: files(1, -1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if cmd.Flags().Changed("by") {
				if err := files(1, 1)(cmd, paths); err != nil {
					return err
				}
				return a.lines(cmd.Context(), paths[0], options)
			}
			for _, name := range []string{"at", "libraries"} {
				if cmd.Flags().Changed(name) {
					return usage(cmd, "--"+name+" goes with --by: the report itself is about the peak")
				}
			}
			return a.reports(cmd.Context(), paths, allRanks)
		},
	}
	cmd.Flags().BoolVar(&allRanks, "all-ranks", false, "of a process: of all ranks of its job")
	cmd.Flags().Var(&options.By, "by", "add memory up by line, function, file or module")
	cmd.Flags().BoolVar(&options.Libraries, "libraries", false, "with --by: lines of libraries, of PyTorch and of C++ too")
	atFlag(cmd, &options.At)
	complete(cmd, "by", []string{"line", "function", "file", "module"})
	a.readFlags(cmd.Flags())
	a.remoteFlags(cmd.Flags())
	a.deviceFlag(cmd.Flags())
	a.jsonFlag(cmd.Flags())
	return cmd
}

// reports prints a report of each file, or what differs between the ranks of a job: files
// that are, or with allRanks those of a process.
func (a *app) reports(ctx context.Context, paths []string, allRanks bool) error {
	switch sources, err := a.rankSources(ctx, paths, allRanks); {
	case err != nil:
		return err
	case sources != nil:
		return a.reportRanks(ctx, sources)
	}
	for i, path := range paths {
		r, err := a.report(ctx, path)
		if err != nil {
			return err
		}
		if i > 0 && !a.settings.json {
			fmt.Fprintln(a.stdout)
		}
		if err := r.Replay(ctx, replay.Answer); err != nil {
			return err
		}
		if err := a.print(r); err != nil {
			return err
		}
	}
	return nil
}

// report reports on a file. The little garbage that a report makes is not worth a collection.
func (a *app) report(ctx context.Context, path string) (r *report.Report, err error) {
	a.limits.rest(seldom, func() {
		var t *trace.Trace
		if t, err = a.chosenTrace(ctx, path); err == nil {
			r = report.New(t)
		}
	})
	return r, err
}

// lines prints whose line a file's memory is.
func (a *app) lines(ctx context.Context, path string, o report.LinesOptions) error {
	t, err := a.chosenTrace(ctx, path)
	if err != nil {
		return err
	}
	l, err := report.NewLines(t, o)
	if err != nil {
		return momentUsage(err)
	}
	return a.print(l)
}

// chosen narrows a trace to the device that --device names.
func (a *app) chosen(t *trace.Trace) (*trace.Trace, error) {
	if a.settings.device < 0 {
		return t, nil
	}
	device := t.Device(a.settings.device)
	if device == nil {
		return nil, command.Usage(
			fmt.Sprintf("%s has no device %d", t.Info.Path, a.settings.device), "leave --device out to see all",
		)
	}
	narrowed := *t
	narrowed.Devices = []trace.Device{*device}
	for _, s := range analysis.Shortages(t) {
		if s.Device != device.ID {
			narrowed.Notices = append(slices.Clip(narrowed.Notices), s.String()+".")
		}
	}
	return &narrowed, nil
}

// printed is what a command prints, as JSON or as text.
type printed interface {
	Text(w io.Writer, width int) error
}

// print writes what is wanted of both.
func (a *app) print(r printed) error {
	if a.settings.json {
		return a.printJSON(r)
	}
	return r.Text(a.stdout, a.width())
}

func (a *app) printJSON(value any) error {
	encoder := json.NewEncoder(a.stdout.JSON())
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// pipeWidth is how wide text is printed where there is no terminal.
const pipeWidth = 100

func (a *app) width() int {
	if w, _, err := term.GetSize(a.stdout.Fd()); err == nil && w > 0 {
		return w
	}
	return pipeWidth
}
