package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// ended returns ended programs, the newest first: programs with an agent that ran
// out of memory, and programs that left black boxes.
func (l *lister) ended(ctx context.Context) ([]attach.Dead, error) {
	rows, err := attach.ReadDead(protocol.DeadFolder())
	if err != nil {
		return nil, err
	}
	boxes, err := l.deadBoxes(ctx)
	if err != nil {
		return nil, err
	}
	rows = append(rows, boxes...)
	slices.SortStableFunc(rows, func(a, b attach.Dead) int { return cmp.Compare(b.Time, a.Time) })
	return rows, nil
}

// lsDead lists ended programs.
func (l *lister) lsDead(ctx context.Context) error {
	rows, err := l.ended(ctx)
	if err != nil {
		return err
	}
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
			trace.Shorten(brief(trace.Printable(d.Command)), commandWidth), trace.Printable(d.File))
	}
	return w.Flush()
}

// orDash writes a size, or a dash if it is not known.
func orDash(bytes *int64) string {
	if bytes == nil {
		return "-"
	}
	return quantity.Bytes(*bytes)
}

// eachBox calls do with the black boxes of this user's ended programs, the newest
// of a folder first. It passes an untrusted folder or box as a box with a
// problem.
func eachBox(do func(protocol.Box)) {
	for _, folder := range protocol.BoxFolders() {
		boxes, err := protocol.Boxes(folder, "")
		if err != nil {
			do(protocol.Box{Path: folder, Problem: err})
		}
		for _, b := range boxes {
			if !b.Held {
				do(b)
			}
		}
	}
}

// tidyBoxes removes old black boxes, and the oldest ones if there are too many.
func tidyBoxes() {
	for _, folder := range protocol.BoxFolders() {
		protocol.TidyBoxes(folder, "")
	}
}

// deadBoxes returns a row for each device of each black box of an ended program.
func (l *lister) deadBoxes(ctx context.Context) (rows []attach.Dead, err error) {
	tidyBoxes()
	eachBox(func(b protocol.Box) {
		if ctx.Err() == nil && !b.Hidden() {
			rows = append(rows, l.boxRows(ctx, b)...)
		}
	})
	return rows, ctx.Err()
}

// boxRows reads a black box.
func (l *lister) boxRows(ctx context.Context, b protocol.Box) []attach.Dead {
	if b.Problem != nil {
		return []attach.Dead{{File: b.Path, Problem: b.Problem.Error()}}
	}
	source, err := l.load(ctx, b.Path, nil)
	if err != nil {
		return []attach.Dead{{File: b.Path, Time: b.Alive.UnixMicro(), Problem: err.Error()}}
	}
	t := source.Trace()
	_ = source.Close() // only read from, so there is nothing to lose
	if t.Live == nil || t.Live.Ended == nil {
		return []attach.Dead{{File: b.Path, Time: b.Alive.UnixMicro(), Problem: b.Path + ": this is no black box"}}
	}
	var rows []attach.Dead
	for _, last := range t.Live.Ended.Devices {
		rows = append(rows, attach.OfBox(t, b, last))
	}
	return rows
}

// cleanBoxes removes the black boxes of ended programs. It keeps the files of
// programs with an agent, because the user asked for those.
func (c *console) cleanBoxes() error {
	removed, bytes := 0, int64(0)
	eachBox(func(b protocol.Box) {
		if b.Own {
			b.Problem = os.Remove(b.Path)
		}
		if b.Problem != nil {
			c.note(trace.Printable(b.Problem.Error()))
			return
		}
		removed, bytes = removed+1, bytes+b.Bytes
	})
	if c.settings.json {
		return c.printJSON(cleaned{removed, bytes})
	}
	_, err := fmt.Fprintf(c.stdout, "black boxes of ended programs: %d removed, %s\n", removed, quantity.Bytes(bytes))
	return err
}

// cleaned is the JSON of ls --clean: what it removed.
type cleaned struct {
	Removed int   `json:"removed"`
	Bytes   int64 `json:"bytes"`
}

// blackBoxText returns the folder of this user's black boxes, for info.
func blackBoxText() string {
	text := ""
	for _, folder := range protocol.BoxFolders() {
		if text != "" {
			text += ", "
		}
		text += present(folder)
	}
	return text + fmt.Sprintf("; kept %v after the end, %d of a folder at most", protocol.BoxLifetime.Round(time.Hour), protocol.BoxesKept)
}

// boxless returns the running programs that want a black box and have none, with
// the reason, for info.
func boxless(ctx context.Context) (texts []string) {
	processes, _ := attach.Discover(ctx) // ls says why there is no list
	for _, p := range processes {
		if p.Info != nil && p.Info.Box != nil && p.Info.Box.Problem != "" {
			texts = append(texts, fmt.Sprintf("process %d: %s", p.PID, p.Info.Box.Problem))
		}
	}
	return texts
}
