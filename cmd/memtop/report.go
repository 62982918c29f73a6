package main

import (
	"context"
	"fmt"
	"slices"

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
		Use:   "report FILE|FOLDER...|PID",
		Short: "Print the findings as text, or all numbers as JSON",
		Long: `Print the findings and the numbers at the peak, as text or as JSON.

If several files are the ranks of one job, such as rank0.pickle and rank1.pickle, print a
row for each and the differences between them; the JSON also has each report. For a
process, --all-ranks does the same. A folder stands for the snapshots in it, or in the last
of its folders, such as iteration_20, with a row for each of these folders.

What memtop report --json printed of ranks stands for their snapshots, which may lie on
other machines: memtop report rank0.json rank1.json.

--by prints a table of what each line, function, file or module holds, by itself and
together with what it calls. Memory counts for the innermost line of the program's own
code: Python outside of installed packages, PyTorch and the standard library. A module is
the package that a file belongs to. --libraries counts memory for the innermost line of all.`,
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
				return a.files.lines(cmd.Context(), paths[0], options)
			}
			for _, name := range []string{"at", "libraries"} {
				if cmd.Flags().Changed(name) {
					return usage(cmd, "--"+name+" goes with --by: the report itself is about the peak")
				}
			}
			if all := a.files.iterations(paths); all != nil {
				return a.files.reportRanks(cmd.Context(), all...)
			}
			paths, err := a.ofFolders(paths)
			if err != nil {
				return err
			}
			a.files.readAnswers(paths)
			return a.files.reports(cmd.Context(), paths, allRanks)
		},
	}
	cmd.Flags().BoolVar(&allRanks, "all-ranks", false, "report on all ranks of a process's job")
	cmd.Flags().Var(&options.By, "by", "sum memory by line, function, file or module")
	cmd.Flags().BoolVar(&options.Libraries, "libraries", false, "with --by: count memory for lines of libraries, PyTorch and C++ too")
	atFlag(cmd, &options.At)
	complete(cmd, "by", []string{"line", "function", "file", "module"})
	a.settings.readFlags(cmd.Flags())
	a.settings.remoteFlags(cmd.Flags())
	a.settings.deviceFlag(cmd.Flags())
	a.settings.jsonFlag(cmd.Flags())
	return cmd
}

// reports prints a report on each file. For the ranks of a job it prints their
// differences: ranks are files, or with allRanks the processes of a job.
func (l *loader) reports(ctx context.Context, paths []string, allRanks bool) error {
	switch sources, err := l.rankSources(ctx, paths, allRanks); {
	case err != nil:
		return err
	case sources != nil:
		return l.reportRanks(ctx, sources)
	case len(l.answers) > 0:
		return l.unranked(paths)
	}
	for i, path := range paths {
		r, err := l.report(ctx, path)
		if err != nil {
			return err
		}
		if i > 0 && !l.settings.json {
			fmt.Fprintln(l.stdout)
		}
		if err := r.Replay(ctx, replay.Answer); err != nil {
			return err
		}
		err = l.print(r)
		if err != nil {
			return err
		}
	}
	return nil
}

// report reports on a file. It makes too little garbage for a collection.
func (l *loader) report(ctx context.Context, path string) (r *report.Report, err error) {
	l.limits.rest(seldom, func() {
		var t *trace.Trace
		if t, err = l.chosenTrace(ctx, path); err == nil {
			r = report.New(t)
		}
	})
	return r, err
}

// lines prints the source lines that allocated a file's memory.
func (l *loader) lines(ctx context.Context, path string, o report.LinesOptions) error {
	t, err := l.chosenTrace(ctx, path)
	if err != nil {
		return err
	}
	table, err := report.NewLines(t, o)
	if err != nil {
		return momentUsage(err)
	}
	return l.print(table)
}

// chosen narrows a trace to the device that --device names.
func (s *settings) chosen(t *trace.Trace) (*trace.Trace, error) {
	if s.device < 0 {
		return t, nil
	}
	device := t.Device(s.device)
	if device == nil {
		return nil, command.Usage(
			fmt.Sprintf("%s has no device %d", t.Info.Path, s.device), "leave --device out to see all",
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
