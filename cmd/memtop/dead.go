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

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// lsDead lists what ended programs left, the newest first: those that ran out of memory
// with an agent, and black boxes.
func (l *lister) lsDead(ctx context.Context) error {
	rows, err := attach.ReadDead(protocol.DeadFolder())
	if err != nil {
		return err
	}
	boxes, err := l.deadBoxes(ctx)
	if err != nil {
		return err
	}
	rows = append(rows, boxes...)
	slices.SortStableFunc(rows, func(a, b attach.Dead) int { return cmp.Compare(b.Time, a.Time) })
	if l.settings.json {
		return l.printJSON(rows)
	}
	good := slices.DeleteFunc(slices.Clone(rows), func(d attach.Dead) bool { return d.Problem != "" })
	if len(good) == 0 {
		_, err = fmt.Fprintln(l.stdout, trace.Printable("no ended program left anything in "+strings.Join(append(protocol.BoxFolders(), protocol.DeadFolder()), " or ")))
	} else {
		err = writeDead(l.stdout, good)
	}
	for _, d := range rows {
		if d.Problem != "" {
			l.note(trace.Printable(d.Problem))
		}
	}
	return err
}

// commandWidth bounds the command in the table, whose last column is a path to copy.
const commandWidth = 32

func writeDead(out io.Writer, rows []attach.Dead) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PID\tWHEN\tSTEP\tDEVICE\tALLOCATED\tRESERVED\tASKED FOR\tSHORT BY\tENDED\tCOMMAND\tFILE")
	for _, d := range rows {
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", d.PID, time.UnixMicro(d.Time).Format(time.DateTime), d.Step, d.Device,
			orDash(d.Allocated), orDash(d.Reserved), orDash(d.Asked), orDash(d.Short), d.Ended,
			trace.Shorten(trace.Printable(d.Command), commandWidth), trace.Printable(d.File))
	}
	return w.Flush()
}

// orDash writes a size, and one that is not known as a dash.
func orDash(bytes *int64) string {
	if bytes == nil {
		return "-"
	}
	return quantity.Bytes(*bytes)
}
