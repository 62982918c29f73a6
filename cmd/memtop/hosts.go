package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/remote"
)

// elsewhere holds the flags that name several machines.
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

// String returns the hosts in a form that Set reads.
func (l *hostList) String() string { return strings.Join(*l, ",") }

// Type names the flag's type for the flag library.
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

// discover returns the processes of all these machines, and an error for each
// machine that did not answer.
func (e *elsewhere) discover(ctx context.Context, m *remote.Machines) ([]attach.Process, []error, error) {
	ways, err := m.Ways(ctx, e.hosts, e.slurm)
	if err != nil {
		return nil, nil, err
	}
	return m.Discover(ctx, ways)
}

// targetAmong returns the process that the user means. If the flags name
// machines, it is one of their processes. Machines that do not answer are
// reported and left out.
func (v *viewer) targetAmong(ctx context.Context, args []string, e *elsewhere) (string, error) {
	if !e.any() {
		return v.target(ctx, args)
	}
	all, failed, err := e.discover(ctx, v.machines)
	if err != nil {
		return "", err
	}
	if len(failed) > 0 && len(all) == 0 {
		v.tell(failed[1:])
		return "", failed[0]
	}
	v.tell(failed)
	return v.choose(ctx, slices.DeleteFunc(all, func(p attach.Process) bool { return !p.OfJob(e.job) }), nil)
}
