package main

import (
	"cmp"
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

// died is a program that ran out of memory, as its agent wrote it, in the JSON of
// ls --dead; or a file that is no such thing, with its problem.
type died struct {
	PID      int    `json:"pid"`
	Command  string `json:"command"`
	Host     string `json:"host"`
	Time     int64  `json:"time_us"` // since 1970
	Step     int64  `json:"step"`    // how many had ended
	Device   int    `json:"device"`
	Asked    int64  `json:"asked_bytes"`
	Short    int64  `json:"short_bytes"` // of what the driver was asked for
	Snapshot string `json:"snapshot"`    // its path
	Problem  string `json:"problem,omitempty"`
}

// lsDead lists what programs left that ran out of memory, the newest first.
func (a *app) lsDead() error {
	folder := protocol.DeadFolder()
	rows, err := deadIn(folder)
	if err != nil {
		return err
	}
	if a.settings.json {
		return a.printJSON(rows)
	}
	good := slices.DeleteFunc(slices.Clone(rows), func(d died) bool { return d.Problem != "" })
	if len(good) == 0 {
		_, err = fmt.Fprintln(a.stdout, trace.Printable("no program with an agent left anything in "+folder))
	} else {
		err = writeDead(a.stdout, good)
	}
	for _, d := range rows {
		if d.Problem != "" {
			fmt.Fprintln(a.stderr, "memtop: "+trace.Printable(d.Problem))
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
				d = died{Snapshot: strings.TrimSuffix(path, ".json") + ".pickle", Problem: path + ": " + err.Error()}
			}
			rows = append(rows, d)
		}
	}
	slices.SortStableFunc(rows, func(a, b died) int { return cmp.Compare(b.Time, a.Time) })
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
		Schema string `json:"schema"`
		died
	}
	if json.Unmarshal(data, &answer) != nil || answer.Schema != deadSchema {
		return died{}, fmt.Errorf("this is no %s", deadSchema)
	}
	d := answer.died
	name := filepath.Base(d.Snapshot)
	if name != d.Snapshot || d.Problem != "" {
		return died{}, fmt.Errorf("this is no %s", deadSchema)
	}
	d.Snapshot = filepath.Join(filepath.Dir(path), name)
	if _, err := os.Stat(d.Snapshot); err != nil {
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
	fmt.Fprintln(w, "PID\tWHEN\tDEVICE\tASKED FOR\tSHORT BY\tCOMMAND\tFILE")
	for _, d := range rows {
		fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%s\t%s\t%s\n", d.PID, time.UnixMicro(d.Time).Format(time.DateTime), d.Device,
			quantity.Bytes(d.Asked), quantity.Bytes(d.Short), trace.Shorten(trace.Printable(d.Command), commandWidth), trace.Printable(d.Snapshot))
	}
	return w.Flush()
}
