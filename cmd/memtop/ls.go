package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"memtop/probe"
	"memtop/snapshots/analysis"
)

func (a *app) lsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the processes that can be attached to",
		Args:  files(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.ls(cmd.Context()) },
	}
	a.jsonFlag(cmd.Flags())
	return cmd
}

// listed is a device of a process in the JSON of ls.
type listed struct {
	PID       int    `json:"pid"`
	User      string `json:"user"`
	Command   string `json:"command"`
	Socket    string `json:"socket"`
	Device    int    `json:"device"`
	Step      int64  `json:"step"`
	Allocated int64  `json:"allocated_bytes"`
	Reserved  int64  `json:"reserved_bytes"`
}

// ls prints a row for every device of every process.
func (a *app) ls(ctx context.Context) error {
	processes, err := probe.Discover(ctx)
	if err != nil {
		return err
	}
	rows := make([]listed, 0, len(processes))
	for _, p := range processes {
		if p.Problem != nil {
			fmt.Fprintf(a.stderr, "memtop: %v (%s)\n", p.Problem, p.Command)
			continue
		}
		rows = append(rows, rowsOf(p)...)
	}
	switch {
	case a.settings.json:
		return a.printJSON(rows)
	case len(rows) == 0:
		_, err := fmt.Fprintln(a.stdout, "no process can be attached to; start one with memtop demo")
		return err
	}
	return writeRows(a.stdout, rows)
}

func rowsOf(p probe.Process) []listed {
	var rows []listed
	for _, d := range p.Info.Devices {
		rows = append(rows, listed{p.PID, p.User, p.Command, p.Socket, d.Device, p.Info.Step, d.Allocated, d.Reserved})
	}
	return rows
}

func writeRows(out io.Writer, rows []listed) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PID\tUSER\tDEVICE\tSTEP\tALLOCATED\tRESERVED\tCOMMAND")
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%s\t%s\t%s\n",
			r.PID, r.User, r.Device, r.Step, analysis.Bytes(r.Allocated), analysis.Bytes(r.Reserved), r.Command)
	}
	return w.Flush()
}
