package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

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
		Long: `Show the device memory of a running process, live. Without an argument, memtop
attaches to the only process that it can attach to, or lets you choose. Of a job
started by mpirun, torchrun or srun it shows every rank in a row; Enter opens one.

The process needs a probe. memtrain has one, any Go program can have one, and a
PyTorch program has one if you start it with memtop run or if it imports
memtop.auto. memtop can add the agent to any other running PyTorch program; it asks
you first.

With --once, or if standard output is not a terminal, memtop prints one state;
--json prints it as JSON. A PyTorch program that nobody watches measures a whole step
first; memtop waits for it.

HOST:PID is a process on another machine that your ssh reaches and that has memtop
installed; HOST: lets you choose one. --hosts looks on several machines, --slurm on
those of a Slurm job; --job shows one job only.

With --all-ranks and --once, memtop prints a row for each rank of the process's job
and the differences between ranks; the JSON has the state of each.`,
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
		RunE: func(cmd *cobra.Command, args []string) error {
			if allRanks && !a.interactive() {
				return a.printRanks(cmd.Context(), args, &there)
			}
			target, err := a.viewer.targetAmong(cmd.Context(), args, &there)
			switch {
			case errors.Is(err, errLeft):
				return nil
			case err != nil:
				return err
			}
			return a.viewer.attach(cmd.Context(), target)
		},
	}
	a.settings.liveFlags(cmd.Flags())
	there.flags(cmd.Flags())
	cmd.Flags().StringVar(&there.job, "job", "", "show only processes of the job or program with this `NAME`")
	a.settings.deviceFlag(cmd.Flags())
	a.settings.jsonFlag(cmd.Flags())
	a.settings.screenFlags(cmd)
	cmd.Flags().Lookup("once").Usage = "print one state and exit"
	cmd.Flags().BoolVar(&allRanks, "all-ranks", false, "with --once: all ranks of the job that the process belongs to")
	a.settings.readOnlyFlag(cmd.Flags())
	cmd.Flags().StringVar(&a.settings.inject, "inject", injectAsk, "add the agent to a PyTorch program that has none: "+strings.Join(injections, ", "))
	settable(cmd.Flags(), "inject")
	complete(cmd, "inject", injections)
	return cmd
}

// oneProcess returns a check for at least low arguments: the first one names a
// process, and no other argument does.
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

// viewer shows files and processes on a screen, and asks the user which ones to
// show.
type viewer struct {
	*console
	*loader
	*screen
}

// target returns the process that the user means.
func (v *viewer) target(ctx context.Context, args []string) (string, error) {
	before := "" // what the machine is called, before a pid
	if len(args) > 0 {
		if _, process, there := remote.Split(args[0]); !there || process != "" {
			return args[0], nil
		}
		before = args[0]
	}
	m, _, err := v.machines.On(ctx, before)
	if err != nil {
		return "", err
	}
	all, err := m.Discover(ctx)
	if err != nil {
		return "", err
	}
	var bare []attach.Process
	if m == attach.Here {
		bare = v.bare(ctx, all)
	}
	return v.choose(ctx, all, bare)
}

// choose returns the argument that names the process that the user means, of the
// processes found and those without an agent.
func (v *viewer) choose(ctx context.Context, all, bare []attach.Process) (string, error) {
	good, silent := attach.Attachable(attach.Choices(all))
	asks := v.interactive()
	if asks {
		good = append(good, bare...)
	}
	names := make([]string, len(good)) // on the command line
	for i := range good {
		names[i] = good[i].Target()
	}
	switch {
	case len(good) == 0:
		return "", attach.NothingAttachable(append(all, bare...))
	case asks && len(good)+len(silent) > 1:
		chosen, err := v.pick(ctx, good, problems(all))
		return chosen.Target(), err
	case len(good) > 1:
		return "", command.Usage("there are several processes: "+strings.Join(names, ", "), "memtop attach "+remote.Word(names[0]))
	}
	for _, line := range problems(silent) { // the user may have meant one of them
		v.note(line)
	}
	return names[0], nil
}

// attach shows a process on the screen, or prints its state.
func (v *viewer) attach(ctx context.Context, target string) error {
	c, err := v.dialOrInject(ctx, target)
	switch {
	case errors.Is(err, errLeft):
		return nil
	case err != nil:
		return err
	}
	if !v.interactive() {
		defer func() { _ = c.Close() }() // it was only read from
		t, err := v.looked(ctx, c)
		if err != nil {
			return err
		}
		tell(ctx, c, t)
		return v.printLive(t)
	}
	return v.showProcess(ctx, c)
}

// printLive prints one state of a process.
func (c *console) printLive(t *trace.Trace) error {
	t, err := c.settings.chosen(t)
	if err != nil {
		return err
	}
	r := report.NewLive(t)
	return c.print(r)
}

// showLive runs the screen on a process. The screen owns the client. When it
// loads the process again, memtop attaches anew. The screen does not ask before
// it changes a demo process.
func (v *viewer) showLive(ctx context.Context, c *attach.Client, own bool) error {
	command.GiveWay()
	var first sync.Once
	load := func(ctx context.Context, _ trace.Progress) (trace.Source, error) {
		var source trace.Source
		first.Do(func() { source = c })
		if source != nil {
			return source, nil
		}
		return v.dial(ctx, c.Process().Target())
	}
	defer func() { _ = c.Close() }() // again, if the screen has done so
	w, stop := newWriters(ctx)
	defer stop()
	o := v.screenOptions(w)
	o.ReadOnly, o.Own = v.settings.readOnly, own
	defer telling(ctx, c)()
	name := c.Process().Command // the pid, which a restart changes, is told beside the state
	return v.showProgram(ctx, c, []tui.File{{Name: name, Load: load, Live: true}}, o)
}

// errLeft says that the user chose none of the processes. That is not a failure.
var errLeft = errors.New("no process was chosen")

// pick asks the user to choose a process, and shows why others cannot be chosen.
func (s *screen) pick(ctx context.Context, processes []attach.Process, others []string) (attach.Process, error) {
	var rows []listed
	for _, p := range processes {
		row := rowsOf(p)[0] // one for the process is enough
		if r := row.Rank; r != nil && r.World > 1 {
			row.Command, row.Rank = fmt.Sprintf("%d ranks of %s", r.World, row.Command), nil
		}
		rows = append(rows, row)
	}
	var text strings.Builder
	if err := writeRows(trace.PrintableText(&text), rows); err != nil {
		return attach.Process{}, err
	}
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	choice := tui.NewChoice(lines[0], lines[1:], others)
	if err := s.show(ctx, choice); err != nil {
		return attach.Process{}, err
	}
	if chosen, ok := choice.Chosen(); ok {
		return processes[chosen], nil
	}
	return attach.Process{}, errLeft
}
