package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

func (a *app) checkCommand() *cobra.Command {
	peak, growth, host := command.Size(report.NoLimit), rate(report.NoLimit), rate(report.NoLimit)
	var allRanks bool
	cmd := &cobra.Command{
		Use:   "check FILE...|PID --max-peak SIZE --max-growth SIZE/step",
		Short: "Exit with code 10 if memory exceeds a limit: a gate for CI",
		Long: `Compare a snapshot with limits. If it exceeds one, print the call stacks that did
it, and exit with code 10.

The peak is the highest level of requested memory. Growth is measured over the
last eight steps that the program marks: by torch.profiler (ProfilerStep#n), or
by the calls of an optimizer's step that PyTorch 2.5 and later annotate. A file
that marks fewer than five does not pass: the exit code is 2.

Growth on the host is that of a program with memtop's agent and of its workers: a
recording, a black box or a running process says it.

Several files are checked one by one; files of one job are named by rank.

` + command.SizeUnits,
		Example: `  memtop check snapshot.pickle --max-peak 30GiB
  memtop check rank*.pickle --max-peak 30GiB
  memtop check snapshot.pickle --max-growth 1MiB/step --json`,
		Args: files(1, -1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			limits := report.Limits{Peak: int64(peak), PerStep: int64(growth), Host: int64(host)}
			if limits.Peak < 0 && limits.PerStep < 0 && limits.Host < 0 {
				return usage(cmd, "it needs a limit, --max-peak, --max-growth or --max-host-growth")
			}
			paths, err := a.ofFolders(paths)
			if err != nil {
				return err
			}
			a.files.readAnswers(paths)
			return a.files.checkAll(cmd.Context(), paths, allRanks, limits)
		},
	}
	a.settings.readFlags(cmd.Flags())
	a.settings.remoteFlags(cmd.Flags())
	a.settings.deviceFlag(cmd.Flags())
	cmd.Flags().Lookup("device").Usage = "device `N` only (default all)"
	a.settings.jsonFlag(cmd.Flags())
	cmd.Flags().BoolVar(&allRanks, "all-ranks", false, "check all ranks of a process's job")
	cmd.Flags().Var(&peak, "max-peak", "most memory that may be live at one moment, such as 30GiB")
	cmd.Flags().Var(&growth, "max-growth", "most growth from step to step, such as 1MiB/step")
	cmd.Flags().Var(&host, "max-host-growth", "most growth of the program's memory on the host, such as 1MiB/step")
	for _, name := range []string{"max-peak", "max-growth", "max-host-growth"} {
		cmd.Flags().Lookup(name).DefValue = ""
	}
	return cmd
}

// checkAll checks one file or process, or several files, or all ranks of a process's job.
func (l *loader) checkAll(ctx context.Context, paths []string, allRanks bool, limits report.Limits) error {
	sources, err := l.rankSources(ctx, paths, allRanks)
	switch {
	case err != nil:
		return err
	case sources == nil && len(paths) == 1 && len(l.answers) == 0:
		return l.check(ctx, paths[0], limits)
	case sources == nil:
		for _, path := range paths {
			sources = append(sources, ranks.File{Path: path, Place: trace.Rank{Rank: ranks.Unranked}})
		}
	}
	return l.checkRanks(ctx, sources, limits)
}

// check prints each limit with its result, and returns an error if a limit was
// exceeded.
func (l *loader) check(ctx context.Context, path string, limits report.Limits) error {
	t, err := l.chosenTrace(ctx, path)
	if err != nil {
		return err
	}
	gate, err := report.NewGate(t, limits)
	if err = unmeasured(path, err); err == nil {
		err = l.print(gate)
	}
	if err == nil && !gate.OK {
		err = exceeded(gate.Broken(), "the sites are on standard output")
	}
	return err
}

// unmeasured says of which file and by what remedy a limit cannot be checked.
func unmeasured(path string, err error) error {
	var steps *report.StepsError
	if errors.As(err, &steps) {
		return command.Usage(path+": "+steps.Error(), "--max-peak, or mark more steps, as memtop check --help says")
	}
	if errors.As(err, new(report.HostError)) {
		return command.Usage(path+": "+err.Error(), "memtop record PID FILE, then check the file")
	}
	return err
}

// rate is a flag's number of bytes per step: a size, optionally followed by
// "/step".
type rate command.Size

// String returns the rate in a form that Set reads.
func (r *rate) String() string { return (*command.Size)(r).String() + "/step" }

// Set reads a rate.
func (r *rate) Set(text string) error {
	number, per, given := strings.Cut(text, "/")
	if given && per != "step" {
		return fmt.Errorf("%q is not a growth per step; write it like 1MiB/step", text)
	}
	return (*command.Size)(r).Set(number)
}

// Type names the flag's type in help.
func (r *rate) Type() string { return "SIZE/step" }
