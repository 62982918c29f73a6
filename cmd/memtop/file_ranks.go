package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// rankFile is a rank of a job as a file, or as a process whose snapshot is looked at.
type rankFile struct {
	path  string // or a process, as the command line names it
	place trace.Rank
	host  string
	pid   int
}

// rankFiles returns files as the ranks that they say they are, or else their names, in the
// order of ranks; nil for files that are none.
func rankFiles(paths []string) []rankFile {
	files := recordedFiles(paths)
	if numbers, ok := ranks.ByName(paths); ok && files == nil {
		for i, path := range paths {
			files = append(files, rankFile{path: path, place: trace.Rank{Rank: numbers[i]}})
		}
	}
	slices.SortFunc(files, func(a, b rankFile) int { return a.place.Rank - b.place.Rank })
	return files
}

// recordedFiles returns recordings as the ranks of the one job that they say they are of;
// nil for files of which one says no such thing, or two the same.
func recordedFiles(paths []string) []rankFile {
	var files []rankFile
	for _, path := range paths {
		place := recordedRank(path)
		if place == nil || slices.ContainsFunc(files, func(f rankFile) bool {
			return f.place.Job != place.Job || f.place.World != place.World || f.place.Rank == place.Rank
		}) {
			return nil
		}
		files = append(files, rankFile{path: path, place: *place})
	}
	if len(files) < 2 {
		return nil
	}
	return files
}

// recordedRank returns the rank that a recording begins with, nil for another file. What is
// wrong with a file is for its reader to say.
func recordedRank(path string) *trace.Rank {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil // a pipe can be read once only
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read from
	s := wire.NewStream(f, wire.StreamOptions{})
	if _, err := s.Advance(); err != nil || s.Hello() == nil || s.Hello().Rank == nil || !s.Hello().Rank.Valid() {
		return nil
	}
	return s.Hello().Rank.Printable()
}

// row returns the row of a rank that was read. A recording says itself which rank it is.
func (f *rankFile) row(x *analysis.Index) ranks.Row {
	r := ranks.Of(x)
	if r.World == 0 {
		r.Rank = f.place
	}
	r.Name, r.Host, r.PID = f.path, f.host, f.pid
	return r
}

// without returns the row of a rank that cannot be read, or has not been.
func (f *rankFile) without(problem string) ranks.Row {
	return ranks.Row{Rank: f.place, Name: f.path, Host: f.host, PID: f.pid, Problem: problem, Capacity: -1, Others: -1}
}

// problemOf returns the row of a rank that could not be read.
func (f *rankFile) problemOf(err error) ranks.Row {
	_, cause, _ := classify(err)
	return f.without(cause)
}

// readAtOnce is how many ranks are read at a time. Each may take what one file may; the
// others wait, so that a job of many ranks takes no more than one of two.
const readAtOnce = 2

// readRanks reads ranks one after the other, some at a time, and gives each to a function
// before it is let go, by its place among them. The function is called by several
// goroutines.
func (l *loader) readRanks(ctx context.Context, files []rankFile, use func(at int, t *trace.Trace, err error)) {
	var next atomic.Int64
	var readers sync.WaitGroup
	for i := range readAtOnce {
		readers.Go(func() {
			reader := "ranks " + strconv.Itoa(i) // one bound on memory for all that it reads
			defer l.limits.release(reader)
			for at := int(next.Add(1)) - 1; at < len(files) && ctx.Err() == nil; at = int(next.Add(1)) - 1 {
				t, err := l.read(ctx, reader, files[at].path)
				use(at, t, err)
			}
		})
	}
	readers.Wait()
}

func indexesOf(t *trace.Trace) []*analysis.Index {
	indexes := make([]*analysis.Index, len(t.Devices))
	for i := range t.Devices {
		indexes[i] = analysis.NewIndex(t, &t.Devices[i])
	}
	return indexes
}

// fullest returns the index of the device that matters most: that ran out of memory, or
// else had the highest peak. There may be none.
func fullest(indexes []*analysis.Index) *analysis.Index {
	var most *analysis.Index
	for _, x := range indexes {
		if most == nil || failures(x) > failures(most) || failures(x) == failures(most) && x.Summary().PeakRequested > most.Summary().PeakRequested {
			most = x
		}
	}
	return most
}

func failures(x *analysis.Index) int { return len(x.OOMEvents()) }

// readRows are the rows of files while they are read, for the screen. It is a [tui.Ranks].
type readRows struct {
	mu      sync.Mutex
	rows    []ranks.Row
	changed chan struct{} // never closed
}

// rowsOfFiles begins to read files for their rows, until ctx is done. The returned
// function waits for its end.
func (l *loader) rowsOfFiles(ctx context.Context, files []rankFile) (*readRows, func()) {
	r := &readRows{rows: make([]ranks.Row, len(files)), changed: make(chan struct{}, 1)}
	for i := range files {
		r.rows[i] = files[i].without(ranks.NotRead)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{}) // closed when no file is read any more
	go func() {
		defer close(done)
		l.readRanks(ctx, files, func(at int, t *trace.Trace, err error) { r.set(at, files[at].rowOf(t, err)) })
	}()
	return r, func() { cancel(); <-done }
}

var errNoDevice = errors.New("no device has a segment or an event")

// rowOf returns the row of a rank that was read, or why there is none.
func (f *rankFile) rowOf(t *trace.Trace, err error) ranks.Row {
	if err != nil {
		return f.problemOf(err)
	}
	if x := fullest(indexesOf(t)); x != nil {
		return f.row(x)
	}
	return f.problemOf(errNoDevice)
}

func (r *readRows) set(at int, row ranks.Row) {
	r.mu.Lock()
	r.rows = slices.Clone(r.rows) // what was handed out stays
	r.rows[at] = row
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Rows returns what is known of each file.
func (r *readRows) Rows() []ranks.Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rows
}

// Changed receives when a file was read.
func (r *readRows) Changed() <-chan struct{} { return r.changed }

// rankSources returns what a command looks at as ranks: files that are, or with allRanks
// the processes of a job; nil for anything else.
func (l *loader) rankSources(ctx context.Context, targets []string, allRanks bool) ([]rankFile, error) {
	if !allRanks {
		return rankFiles(targets), nil
	}
	if len(targets) != 1 || !isLive(targets[0]) {
		return nil, command.Usage("--all-ranks goes with one process", "memtop attach PID --all-ranks --once")
	}
	job, err := l.jobOf(ctx, targets, new(elsewhere))
	if err != nil {
		return nil, err
	}
	files := make([]rankFile, len(job))
	for i, p := range job {
		files[i] = sourceOf(p)
	}
	return files, nil
}

// sourceOf returns a process of a job as a rank whose snapshot may be looked at.
func sourceOf(p attach.Process) rankFile {
	f := rankFile{path: p.Target(), place: trace.Rank{Rank: ranks.Unranked}, host: p.Host, pid: p.PID}
	if p.Info != nil && p.Info.Rank != nil {
		f.place = *p.Info.Rank.Printable()
	}
	return f
}
