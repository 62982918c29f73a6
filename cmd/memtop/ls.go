package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

func (a *app) lsCommand() *cobra.Command {
	var dead, clean, cards bool
	var there elsewhere
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the processes that can be attached to",
		Long: `List the processes that can be attached to, a row for each of their devices.

A process has three seconds to answer. If it does not answer, or memtop must not trust
it, its row has no numbers, and standard error says why. The same goes for sockets that
ended processes left behind. In the JSON such a row has a "problem" instead of numbers,
and the pid 0 if there is no process.

Python programs that use a GPU or have PyTorch, but no agent, are listed below the
others with what you can do; the JSON has it as "remedy".

--hosts lists the processes of other machines that your ssh reaches and that have memtop
installed; --slurm lists those of a Slurm job.

--gpu lists each GPU, or instance of a divided one, with all processes that the driver
names on it, of any user: bytes, age and command; and memory that is taken though its
process is gone, with what releases it.

--dead lists what ended programs left for memtop open: a snapshot of each PyTorch
program with an agent that ran out of memory, written before the exception, and a black
box of each program with a probe or an agent that was killed or crashed, with what it
did last. A Go program that ran out of memory leaves one too. Black boxes are kept for a
day; --clean removes them now.`,
		Args: files(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := there.check(cmd, nil); err != nil {
				return err
			}
			l := &lister{a.files}
			switch {
			case (dead || clean) && there.any():
				return usage(cmd, "--dead and --clean are for this machine")
			case cards && (dead || clean || there.any()):
				return usage(cmd, "--gpu lists the devices of this machine, and goes with --json only")
			case cards:
				return l.lsCards()
			case dead && clean:
				return usage(cmd, "--dead lists and --clean removes: one of them")
			case clean:
				return a.cleanBoxes()
			case dead:
				return l.lsDead(cmd.Context())
			case there.any():
				return l.lsThere(cmd.Context(), &there)
			}
			return l.ls(cmd.Context())
		},
	}
	there.flags(cmd.Flags())
	a.settings.remoteFlags(cmd.Flags())
	cmd.Flags().BoolVar(&cards, "gpu", false, "list the GPUs with all processes on them, whether memtop can attach or not")
	cmd.Flags().BoolVar(&dead, "dead", false, "list ended programs, with their snapshots and black boxes")
	cmd.Flags().BoolVar(&clean, "clean", false, "remove the black boxes of ended programs")
	a.settings.jsonFlag(cmd.Flags())
	return cmd
}

// listed is a device of a process in the JSON of ls, or a process that memtop
// cannot attach to, with its problem.
type listed struct {
	Host    string `json:"host,omitempty"` // "" for this one
	PID     int    `json:"pid"`
	User    string `json:"user"`
	Command string `json:"command"`
	Socket  string `json:"socket"`
	*listedDevice
	Rank    *trace.Rank `json:"rank,omitempty"` // of a process that others were started with
	Problem string      `json:"problem,omitempty"`
	Remedy  string      `json:"remedy,omitempty"` // for a program without an agent
}

type listedDevice struct {
	Device    int    `json:"device"`
	Step      int64  `json:"step"`
	Allocated *int64 `json:"allocated_bytes"` // null where the program does not know it yet
	Reserved  *int64 `json:"reserved_bytes"`
	Known     *int64 `json:"known_us,omitempty"` // when the bytes were so, where that is not now
	age       time.Duration
}

// lister lists processes, and the files of ended processes.
type lister struct{ *loader }

// ls prints a row for every device of every process.
func (l *lister) ls(ctx context.Context) error {
	tidyBoxes()
	processes, err := attach.Discover(ctx)
	if err != nil {
		return err
	}
	return l.list(processes, bareRows(l.bare(ctx, processes)))
}

// lsThere prints the processes of other machines. If a machine does not answer,
// the command fails after it has printed the others.
func (l *lister) lsThere(ctx context.Context, e *elsewhere) error {
	processes, failed, err := e.discover(ctx, l.machines)
	if err != nil {
		return err
	}
	if len(failed) == 0 || len(processes) > 0 {
		err = l.list(processes, nil)
	}
	if err != nil || len(failed) == 0 {
		return err
	}
	l.tell(failed[1:])
	return failed[0]
}

// list prints rows for processes, and for programs without an agent.
func (l *lister) list(processes []attach.Process, bare []listed) (err error) {
	rows := []listed{} // not null in JSON
	for _, p := range processes {
		if p.PID > 0 || l.settings.json {
			rows = append(rows, rowsOf(p)...)
		}
	}
	if l.settings.json {
		return l.printJSON(append(rows, bare...))
	}
	switch {
	case len(rows) > 0:
		var text strings.Builder
		if err = writeRows(&text, rows); err == nil {
			err = l.writeLines(text.String())
		}
	case len(bare) == 0:
		_, err = fmt.Fprintln(l.stdout, "no process can be attached to; start one with memtop demo")
	}
	if err == nil && len(bare) > 0 {
		err = l.writeBare(bare)
	}
	for _, line := range problems(processes) {
		l.note(line)
	}
	return err
}

func rowsOf(p attach.Process) []listed {
	row := listed{Host: p.Host, PID: p.PID, User: p.User, Command: p.Command, Socket: p.Socket}
	if p.Problem != nil {
		row.Problem = p.Problem.Error()
		return []listed{row}
	}
	row.Rank = p.Info.Rank.Printable()
	var rows []listed
	for _, d := range p.Info.Devices {
		row.listedDevice = &listedDevice{Device: d.Device, Step: p.Info.Step, Known: d.Known, age: d.Age(time.Now())}
		if d.IsKnown() {
			row.Allocated, row.Reserved = &d.Allocated, &d.Reserved
		}
		rows = append(rows, row)
	}
	return rows
}

func writeRows(out io.Writer, rows []listed) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	hosts := slices.ContainsFunc(rows, func(r listed) bool { return r.Host != "" })
	jobs := slices.ContainsFunc(rows, func(r listed) bool { return r.Rank != nil })
	if hosts {
		fmt.Fprint(w, "HOST\t")
	}
	fmt.Fprint(w, "PID\tUSER\t")
	if jobs {
		fmt.Fprint(w, "JOB\tRANK\t")
	}
	fmt.Fprintln(w, "DEVICE\tSTEP\tALLOCATED\tRESERVED\tCOMMAND")
	for _, r := range rows {
		if hosts {
			fmt.Fprint(w, r.Host+"\t")
		}
		numbers := "-\t-\t-\t-"
		if d := r.listedDevice; d != nil {
			numbers = fmt.Sprintf("%d\t%d\t%s\t%s", d.Device, d.Step, orDash(d.Allocated)+d.since(), orDash(d.Reserved))
		}
		rank := ""
		if jobs {
			rank = rankText(r.Rank)
		}
		fmt.Fprintf(w, "%d\t%s\t%s%s\t%s\n", r.PID, r.User, rank, numbers, brief(r.Command))
	}
	return w.Flush()
}

// brief returns a command line without the folders of its program, so that the script
// behind it is seen too.
func brief(command string) string {
	end := strings.IndexByte(command+" ", ' ')
	return command[strings.LastIndexByte(command[:end], '/')+1:]
}

// oldAfter is the age from which on the list shows the age of bytes. A program
// that makes steps updates them more often.
const oldAfter = 10 * time.Second

// since returns the age of the bytes, if they are old.
func (d *listedDevice) since() string {
	if d.age < oldAfter {
		return ""
	}
	return fmt.Sprintf(" (%s ago)", d.age.Round(time.Second))
}

// rankText returns a job and a rank in two columns.
func rankText(r *trace.Rank) string {
	if r == nil {
		return "-\t-\t"
	}
	return fmt.Sprintf("%s\t%d/%d\t", cmp.Or(r.Job, "-"), r.Rank, r.World)
}

// notAttached is the problem of a program that only lacks the agent.
const notAttached = "not attached"

// bareRows returns the rows of programs without an agent.
func bareRows(programs []attach.Process) []listed {
	var rows []listed
	for _, p := range programs {
		remedy, reason := wayIn(p.PID)
		if reason == "" {
			reason = notAttached
		}
		rows = append(rows, listed{PID: p.PID, User: p.User, Command: p.Command, Problem: reason, Remedy: remedy})
	}
	return rows
}

// writeBare prints programs without an agent, each in a line of the terminal. On
// standard error it prints why memtop cannot attach to some of them.
func (l *lister) writeBare(rows []listed) error {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		way := r.Remedy
		if r.Problem != notAttached {
			way = "memtop run"
			l.note(command.Line(r.Problem, r.Remedy))
		}
		fmt.Fprintf(w, "%d\t%s\tnot attached: %s\t%s\n", r.PID, r.User, way, brief(r.Command))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return l.writeLines(text.String())
}
