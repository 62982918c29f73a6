package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// problemOf returns the row of a rank that could not be read.
func problemOf(f *ranks.File, err error) ranks.Row {
	_, cause, _ := classify(err)
	return f.Without(cause)
}

// readAtOnce is how many ranks are read at a time. Each may take the memory of
// one file, and the others wait, so a job of many ranks takes no more memory than
// a job of two.
const readAtOnce = 2

// readRanks reads ranks, a few at a time. It passes each rank and its index to a
// function, and then releases the rank. Several goroutines call the function. Of an
// answer, which has been read, it passes no trace.
func (l *loader) readRanks(ctx context.Context, files []ranks.File, use func(at int, t *trace.Trace, err error)) {
	reader := func(number int) string { return "ranks " + strconv.Itoa(number) } // one bound on memory for all that it reads
	fewAtOnce(len(files), func(number, at int) {
		if a, ok := l.answers[files[at].Path]; ok {
			use(at, nil, a.err)
		} else if ctx.Err() == nil {
			t, err := l.read(ctx, reader(number), files[at].Path)
			use(at, t, err)
		}
	})
	for i := range readAtOnce {
		l.limits.release(reader(i))
	}
}

// fewAtOnce calls a function for each number below n, from a few goroutines, which have
// numbers too.
func fewAtOnce(n int, call func(goroutine, at int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for i := range readAtOnce {
		all.Go(func() {
			for at := int(next.Add(1)) - 1; at < n; at = int(next.Add(1)) - 1 {
				call(i, at)
			}
		})
	}
	all.Wait()
}

// rowsOfFiles begins to read files for their rows, until ctx is done. The returned
// function waits for its end.
func (l *loader) rowsOfFiles(ctx context.Context, files []ranks.File) (*ranks.Rows, func()) {
	r := ranks.NewRows(files)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{}) // closed when no file is read any more
	go func() {
		defer close(done)
		l.readRanks(ctx, files, func(at int, t *trace.Trace, err error) { r.Set(at, rowOf(&files[at], t, err)) })
	}()
	return r, func() { cancel(); <-done }
}

var errNoDevice = errors.New("no device has a segment or an event")

// rowOf returns the row of a rank that was read, or a row with the problem.
func rowOf(f *ranks.File, t *trace.Trace, err error) ranks.Row {
	if err != nil {
		return problemOf(f, err)
	}
	if x := ranks.Fullest(analysis.Indexes(t)); x != nil {
		return report.RankRow(f, x)
	}
	return problemOf(f, errNoDevice)
}

// rankSources returns the ranks that a command reads: files of ranks, or with
// allRanks the processes of a job. It returns nil for any other target.
func (l *loader) rankSources(ctx context.Context, targets []string, allRanks bool) ([]ranks.File, error) {
	if !allRanks {
		return l.ranksOf(targets), nil
	}
	if len(targets) != 1 || !isLive(targets[0]) {
		return nil, command.Usage("--all-ranks goes with one process", "memtop attach PID --all-ranks --once")
	}
	job, err := l.jobOf(ctx, targets, new(elsewhere))
	if err != nil {
		return nil, err
	}
	files := make([]ranks.File, len(job))
	for i, p := range job {
		files[i] = sourceOf(p)
	}
	return files, nil
}

// sourceOf returns a process of a job as a rank whose snapshot can be read.
func sourceOf(p attach.Process) ranks.File {
	f := ranks.File{Path: p.Target(), Place: trace.Rank{Rank: ranks.Unranked}, Host: p.Host, PID: p.PID}
	if p.Info != nil && p.Info.Rank != nil {
		f.Place = *p.Info.Rank.Printable()
	}
	return f
}
