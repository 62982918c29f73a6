package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"memtop/probe/attach"
	"memtop/snapshots/quantity"
)

func (a *app) lsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the processes that can be attached to",
		Long: `List the processes that can be attached to, a row for each of their devices.

They have three seconds to answer. A process that does not, or must not be
trusted, has a row without numbers, and standard error says why; so it does of
sockets that ended processes left behind. In the JSON these have a "problem" in
the place of numbers, and those of no process the pid 0.`,
		Args: files(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ls(cmd.Context()) },
	}
	a.jsonFlag(cmd.Flags())
	return cmd
}

// listed is a device of a process in the JSON of ls, or what cannot be attached
// to, with its problem.
type listed struct {
	PID     int    `json:"pid"`
	User    string `json:"user"`
	Command string `json:"command"`
	Socket  string `json:"socket"`
	*listedDevice
	Problem string `json:"problem,omitempty"`
}

type listedDevice struct {
	Device    int   `json:"device"`
	Step      int64 `json:"step"`
	Allocated int64 `json:"allocated_bytes"`
	Reserved  int64 `json:"reserved_bytes"`
}

// ls prints a row for every device of every process.
func (a *app) ls(ctx context.Context) error {
	processes, err := attach.Discover(ctx)
	if err != nil {
		return err
	}
	rows := []listed{} // not null in JSON
	for _, p := range processes {
		if p.PID > 0 || a.settings.json {
			rows = append(rows, rowsOf(p)...)
		}
	}
	if a.settings.json {
		return a.printJSON(rows)
	}
	if len(rows) == 0 {
		_, err = fmt.Fprintln(a.stdout, "no process can be attached to; start one with memtop demo")
	} else {
		err = writeRows(a.stdout, rows)
	}
	for _, line := range problems(processes) {
		fmt.Fprintln(a.stderr, "memtop: "+line)
	}
	return err
}

func rowsOf(p attach.Process) []listed {
	row := listed{PID: p.PID, User: p.User, Command: p.Command, Socket: p.Socket}
	if p.Problem != nil {
		row.Problem = p.Problem.Error()
		return []listed{row}
	}
	var rows []listed
	for _, d := range p.Info.Devices {
		row.listedDevice = &listedDevice{d.Device, p.Info.Step, d.Allocated, d.Reserved}
		rows = append(rows, row)
	}
	return rows
}

func writeRows(out io.Writer, rows []listed) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PID\tUSER\tDEVICE\tSTEP\tALLOCATED\tRESERVED\tCOMMAND")
	for _, r := range rows {
		numbers := "-\t-\t-\t-"
		if d := r.listedDevice; d != nil {
			numbers = fmt.Sprintf("%d\t%d\t%s\t%s", d.Device, d.Step, quantity.Bytes(d.Allocated), quantity.Bytes(d.Reserved))
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", r.PID, r.User, numbers, r.Command)
	}
	return w.Flush()
}
