package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// deadSchema is the version of the answers that this program reads.
const deadSchema = "memtop.dead/1"

// mostAnswer bounds the bytes of an answer; the agent's have some ten thousand.
const mostAnswer = 1 << 20

// died is a device of a program that ended and left something to open, in the JSON of
// ls --dead; or a file that is no such thing, with its problem. What is not known is
// null.
type died struct {
	PID       int    `json:"pid"`
	Command   string `json:"command"`
	Host      string `json:"host"`
	Time      int64  `json:"time_us"` // since 1970
	Step      int64  `json:"step"`    // how many had ended
	Device    int    `json:"device"`
	Ended     string `json:"ended"` // how
	Allocated *int64 `json:"allocated_bytes"`
	Reserved  *int64 `json:"reserved_bytes"`
	Asked     *int64 `json:"asked_bytes"` // by the request that found no memory
	Short     *int64 `json:"short_bytes"` // of what the driver was asked for
	File      string `json:"file"`        // its path
	Problem   string `json:"problem,omitempty"`
}

// lsDead lists what ended programs left, the newest first: those that ran out of memory
// with an agent, and black boxes.
func (l *lister) lsDead(ctx context.Context) error {
	rows, err := deadIn(protocol.DeadFolder())
	if err != nil {
		return err
	}
	boxes, err := l.deadBoxes(ctx)
	if err != nil {
		return err
	}
	rows = append(rows, boxes...)
	slices.SortStableFunc(rows, func(a, b died) int { return cmp.Compare(b.Time, a.Time) })
	if l.settings.json {
		return l.printJSON(rows)
	}
	good := slices.DeleteFunc(slices.Clone(rows), func(d died) bool { return d.Problem != "" })
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

// deadIn reads the answers in a folder. One that is not there has none.
func deadIn(folder string) ([]died, error) {
	rows := []died{} // not null in JSON
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		if path := filepath.Join(folder, entry.Name()); strings.HasSuffix(path, ".json") {
			d, err := readDied(path)
			if err != nil {
				d = died{File: strings.TrimSuffix(path, ".json") + ".pickle", Problem: path + ": " + err.Error()}
			}
			rows = append(rows, d)
		}
	}
	return rows, nil
}

// readDied reads an answer, and looks whether its snapshot is there.
func readDied(path string) (died, error) {
	file, err := openRegular(path)
	if err != nil {
		return died{}, err
	}
	defer file.Close() // only read from, so there is nothing to lose
	data, err := io.ReadAll(io.LimitReader(file, mostAnswer))
	if err != nil {
		return died{}, err
	}
	var answer struct {
		Schema   string `json:"schema"`
		Snapshot string `json:"snapshot"` // the name of a file beside it
		died
	}
	if json.Unmarshal(data, &answer) != nil || answer.Schema != deadSchema {
		return died{}, fmt.Errorf("this is no %s", deadSchema)
	}
	d := answer.died
	name := filepath.Base(answer.Snapshot)
	if name != answer.Snapshot || d.Problem != "" {
		return died{}, fmt.Errorf("this is no %s", deadSchema)
	}
	d.Ended, d.File = "out of memory", filepath.Join(filepath.Dir(path), name)
	if _, err := os.Stat(d.File); err != nil {
		return died{}, errors.New("its snapshot is not there")
	}
	return d, nil
}

// openRegular opens a file that reading does not wait for.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("this is no regular file")
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// commandWidth bounds the command in the table, whose last column is a path to copy.
const commandWidth = 32

func writeDead(out io.Writer, rows []died) error {
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
