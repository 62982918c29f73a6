package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/remote"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui"
)

func (a *app) attachCommand() *cobra.Command {
	var there elsewhere
	var allRanks bool
	cmd := &cobra.Command{
		Use:   "attach [PID|SOCKET|HOST:[PID]]",
		Short: "Look at a running process",
		Long: `Look at the device memory of a running process, live. Without an argument it is
the one process that can be attached to; if there are several, you choose. Of a job
of several ranks, as mpirun, torchrun and srun start them, all are shown: a row for
each, and Enter goes into one.

The process must have a probe: memtrain has one, any Go program can have one, and a
PyTorch program has one if it was started with memtop run or imports memtop.auto.
Into a PyTorch program without one memtop brings it if you agree. With --once, or when standard output is not a terminal, one state is
printed instead; --json prints it as JSON.

HOST:PID is a process of another machine, where your own ssh goes and memtop is
installed; HOST: lets you choose. --hosts looks on several machines, and --slurm on
those of a Slurm job; --job leaves out what is of another job.

With --all-ranks and --once a row for each rank of the process's job is printed, and
what differs between them; the JSON has the state of each.`,
		Example: `  memtop attach
  memtop attach 4711
  memtop attach 4711 --once --json
  memtop attach 4711 --all-ranks --once
  memtop attach gpu7:4711
  memtop attach --hosts gpu7,gpu8 --job train.py
  memtop attach --slurm 1234`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := there.check(cmd, args); err != nil {
				return err
			}
			return oneProcess(0)(cmd, args)
		},
		ValidArgsFunction: completeProcess,
		RunE: func(cmd *cobra.Command, args []string) error {
			if allRanks && !a.interactive() {
				return a.printRanks(cmd.Context(), args, &there)
			}
			target, err := a.targetAmong(cmd.Context(), args, &there)
			switch {
			case errors.Is(err, errLeft):
				return nil
			case err != nil:
				return err
			}
			return a.attach(cmd.Context(), target)
		},
	}
	a.liveFlags(cmd.Flags())
	there.flags(cmd.Flags())
	cmd.Flags().StringVar(&there.job, "job", "", "on these machines, only processes of this job: its `NAME`, or its program's")
	a.deviceFlag(cmd.Flags())
	a.jsonFlag(cmd.Flags())
	a.screenFlags(cmd)
	cmd.Flags().Lookup("once").Usage = "print one state and exit"
	cmd.Flags().BoolVar(&allRanks, "all-ranks", false, "with --once: all ranks of the job that the process belongs to")
	cmd.Flags().BoolVar(&a.settings.readOnly, "read-only", false, "turn off the keys that change the process")
	cmd.Flags().StringVar(&a.settings.inject, "inject", injectAsk, "bring the agent into a PyTorch program without one: "+strings.Join(injections, ", "))
	complete(cmd, "inject", injections)
	return cmd
}

// oneProcess returns a check for at least low arguments of which the first
// names a process and there is no other.
func oneProcess(low int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < low:
			return usage(cmd, "it needs a process: its pid or its socket")
		case len(args) > 1:
			return usage(cmd, fmt.Sprintf("%q is one argument too many", args[1]))
		}
		return nil
	}
}

// completeWithin is how long the shell is kept waiting. What has not answered
// until then is offered all the same.
const completeWithin = time.Second

// completeProcess lets the shell complete a pid.
func completeProcess(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	processes, err := attach.Discover(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var pids []string
	for _, p := range processes {
		if p.PID > 0 {
			pids = append(pids, cobra.CompletionWithDesc(strconv.Itoa(p.PID), p.Command))
		}
	}
	return pids, cobra.ShellCompDirectiveDefault // a socket is a file
}

// target returns the process that the user means.
func (a *app) target(ctx context.Context, args []string) (string, error) {
	before := "" // what the machine is called, before a pid
	if len(args) > 0 {
		if _, process, there := splitHost(args[0]); !there || process != "" {
			return args[0], nil
		}
		before = args[0]
	}
	m, _, err := a.on(ctx, before)
	if err != nil {
		return "", err
	}
	all, err := m.Discover(ctx)
	if err != nil {
		return "", err
	}
	var bare []attach.Process
	if m == attach.Here {
		bare = a.bare(ctx, all)
	}
	return a.choose(ctx, all, bare)
}

// choose returns how to name the process that the user means, of those found and of
// those without an agent.
func (a *app) choose(ctx context.Context, all, bare []attach.Process) (string, error) {
	good, silent := attachable(choices(all))
	asks := a.interactive()
	if asks {
		good = append(good, bare...)
	}
	names := targetsOf(good)
	switch {
	case len(good) == 0:
		return "", nothingAttachable(append(all, bare...))
	case asks && len(good)+len(silent) > 1:
		chosen, err := a.pick(ctx, good, problems(all))
		return targetOf(chosen), err
	case len(good) > 1:
		return "", command.Usage("there are several processes: "+strings.Join(names, ", "), "memtop attach "+remote.Word(names[0]))
	}
	for _, line := range problems(silent) { // the user may have meant one of them
		a.note(line)
	}
	return names[0], nil
}

// targetsOf returns how to name processes on the command line.
func targetsOf(processes []attach.Process) []string {
	var names []string
	for _, p := range processes {
		names = append(names, targetOf(p))
	}
	return names
}

// targetOf names a process on the command line.
func targetOf(p attach.Process) string {
	if p.Host != "" {
		return p.Host + ":" + strconv.Itoa(p.PID)
	}
	return strconv.Itoa(p.PID)
}

// attachable returns the processes that there is a choice of, and those that
// there may be: they do not answer now.
func attachable(all []attach.Process) (good, silent []attach.Process) {
	for _, p := range all {
		switch {
		case p.Problem == nil:
			good = append(good, p)
		case p.Silent():
			silent = append(silent, p)
		}
	}
	return good, silent
}

// nothingAttachable says what is wrong with the only process that there is, or
// that there is none.
func nothingAttachable(all []attach.Process) error {
	var err error = &attach.NotFoundError{Target: "process that can be attached to"}
	for _, p := range all {
		if p.PID > 0 {
			err = p.Problem
		}
	}
	return err
}

// attach shows a process, or prints how it is.
func (a *app) attach(ctx context.Context, target string) error {
	c, err := a.dialOrInject(ctx, target)
	switch {
	case errors.Is(err, errLeft):
		return nil
	case err != nil:
		return err
	}
	if !a.interactive() {
		defer func() { _ = c.Close() }() // it was only read from
		return a.printLive(c.Trace())
	}
	return a.showProcess(ctx, c)
}

// printLive prints one state of a process.
func (a *app) printLive(t *trace.Trace) error {
	t, err := a.chosen(t)
	if err != nil {
		return err
	}
	return a.print(report.NewLive(t))
}

// showLive runs the screen on a process. The screen owns the client; when it
// loads the process again, it is attached to anew. Changes of a process of the user's
// own, to play with, are not asked about.
func (a *app) showLive(ctx context.Context, c *attach.Client, own bool) error {
	command.GiveWay()
	var first sync.Once
	load := func(ctx context.Context, _ trace.Progress) (trace.Source, error) {
		var source trace.Source
		first.Do(func() { source = c })
		if source != nil {
			return source, nil
		}
		return a.dial(ctx, targetOf(c.Process()))
	}
	defer func() {
		_ = c.Close() // again, if the screen has done so
		a.past(c.Trace(), deviceOf(c.Trace()))
	}()
	w, stop := newWriters(ctx)
	defer stop()
	o := a.screenOptions(w)
	o.ReadOnly, o.Own = a.settings.readOnly, own
	name := c.Process().Command // the pid, which a restart changes, is told beside the state
	return a.show(ctx, tui.New([]tui.File{{Name: name, Load: load, Live: true}}, o))
}
