package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// eachBox calls do with the black boxes of this user's ended programs, the newest of a
// folder first. A folder that must not be trusted, and a box that must not, is one with a
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

// tidyBoxes removes the black boxes that have lain there for long, and those that are
// too many.
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

// cleanBoxes removes the black boxes of ended programs. The answers of programs with an
// agent stay: their user has asked for those.
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

// cleaned is what ls --clean removed, in its JSON.
type cleaned struct {
	Removed int   `json:"removed"`
	Bytes   int64 `json:"bytes"`
}

// blackBoxText says where the black boxes of this user's programs lie, for info.
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
