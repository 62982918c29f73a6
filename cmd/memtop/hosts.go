package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/remote"
)

// elsewhere are the flags that name several machines.
type elsewhere struct {
	hosts hostList
	slurm string
	job   string
}

// any reports whether a machine is named.
func (e *elsewhere) any() bool { return len(e.hosts) > 0 || e.slurm != "" }

// hostList is the flag that names hosts, with commas or white space between them.
type hostList []string

// Set adds what one flag names.
func (l *hostList) Set(text string) error {
	*l = append(*l, strings.FieldsFunc(text, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })...)
	return nil
}

// String returns the hosts as they may be named again.
func (l *hostList) String() string { return strings.Join(*l, ",") }

// Type is for the library of flags.
func (*hostList) Type() string { return "hosts" }

func (e *elsewhere) flags(f *pflag.FlagSet) {
	f.Var(&e.hosts, "hosts", "look on these `HOSTS`, such as a,b,c, by ssh")
	f.StringVar(&e.slurm, "slurm", "", "look on the machines of this Slurm `JOB`, by srun")
}

// check refuses flags that name no machine or two kinds of them.
func (e *elsewhere) check(cmd *cobra.Command, args []string) error {
	given := cmd.Flags().Changed
	switch {
	case given("hosts") && len(e.hosts) == 0:
		return usage(cmd, "--hosts names no host")
	case given("slurm") && e.slurm == "":
		return usage(cmd, "--slurm names no job")
	case given("hosts") && given("slurm"):
		return usage(cmd, "--hosts and --slurm both name machines: one of them is enough")
	case e.any() && len(args) > 0:
		return usage(cmd, fmt.Sprintf("%q names a process, and --hosts or --slurm the machines to look on", args[0]))
	case e.job != "" && !e.any():
		return usage(cmd, "--job chooses among processes of --hosts or --slurm")
	}
	return nil
}

// ways returns how to go to the machines.
func (a *app) ways(ctx context.Context, e *elsewhere) ([]remote.Way, error) {
	if e.slurm != "" {
		ways, err := remote.Slurm(ctx, e.slurm, a.settings.remoteMemtop)
		if errors.As(err, new(*remote.NameError)) {
			err = command.Usage(err.Error(), "squeue --me")
		}
		return ways, err
	}
	var ways []remote.Way
	for _, host := range e.hosts {
		way, err := remote.SSH(host, a.settings.remoteMemtop)
		if err != nil {
			return nil, command.Usage(err.Error(), "memtop attach --hosts a,b,c")
		}
		ways = append(ways, way)
	}
	slices.SortFunc(ways, func(a, b remote.Way) int { return strings.Compare(a.Host(), b.Host()) })
	return slices.CompactFunc(ways, func(a, b remote.Way) bool { return a.Host() == b.Host() }), nil
}

// discoverThere returns the processes of all these machines, and an error for each
// machine that did not say.
func (a *app) discoverThere(ctx context.Context, e *elsewhere) ([]attach.Process, []error, error) {
	ways, err := a.ways(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	reached, failed := a.reachAll(ctx, ways)
	found := make([][]attach.Process, len(ways))
	var all sync.WaitGroup
	for i, m := range reached {
		if failed[i] == nil {
			all.Go(func() { found[i], failed[i] = m.Discover(ctx) })
		}
	}
	all.Wait()
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	return slices.Concat(found...), failed, ctx.Err()
}

// targetAmong returns the process that the user means, of those on other machines where
// some are named. Machines that do not say are named, and left out.
func (a *app) targetAmong(ctx context.Context, args []string, e *elsewhere) (string, error) {
	if !e.any() {
		return a.target(ctx, args)
	}
	all, failed, err := a.discoverThere(ctx, e)
	if err != nil {
		return "", err
	}
	if len(failed) > 0 && len(all) == 0 {
		a.tell(failed[1:])
		return "", failed[0]
	}
	a.tell(failed)
	return a.choose(ctx, slices.DeleteFunc(all, func(p attach.Process) bool { return !ofJob(p, e.job) }), nil)
}

// ofJob reports whether a process belongs to the job that the user means: by what its
// launcher calls the job, or by its program's name, or that of the script that it runs.
func ofJob(p attach.Process, job string) bool {
	if job == "" {
		return true
	}
	if p.Info != nil && p.Info.Rank != nil && p.Info.Rank.Job == job {
		return true
	}
	words := strings.Fields(p.Command)
	return slices.ContainsFunc(words[:min(len(words), nameWords)], func(word string) bool { return path.Base(word) == job })
}

// nameWords is in how many words at the begin of a command line a name is looked for:
// an interpreter, its options and the script.
const nameWords = 4
