package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// rankSnapshots writes a small snapshot for each of n ranks and returns the paths.
func rankSnapshots(t *testing.T, n int) []string {
	t.Helper()
	run, err := leakingSteps(8, "1048576")
	fatal.If(t, err)
	folder := t.TempDir()
	paths := make([]string, n)
	for i := range paths {
		paths[i] = filepath.Join(folder, "rank"+strconv.Itoa(i)+".pickle")
		f, err := os.Create(paths[i])
		fatal.If(t, err)
		fatal.If(t, pytorch.Write(f, run), f.Close())
	}
	return paths
}

func TestManyRanksAreReadAFewAtATimeAndLetGo(t *testing.T) {
	a := newApp(os.Stdout, io.Discard)
	files := ranks.Files(rankSnapshots(t, 12), snapshots.RankOf)
	var now, most, all atomic.Int64
	var first sync.WaitGroup // as many as are read at once
	first.Add(readAtOnce)
	a.files.readRanks(t.Context(), files, func(int, *trace.Trace, error) {
		now.Add(1)
		if all.Add(1) <= readAtOnce {
			first.Done()
			first.Wait()
			for range 10_000 { // of which more than these could make use
				runtime.Gosched()
			}
		}
		if n := now.Load(); n > most.Load() {
			most.Store(n)
		}
		now.Add(-1)
	})
	if all.Load() != 12 || most.Load() != readAtOnce {
		t.Errorf("%d ranks were read, %d at once; want 12, and %d", all.Load(), most.Load(), readAtOnce)
	}
	if n := len(a.files.limits.bounds); n > 1 {
		t.Errorf("memory is still kept for %d files, want one at most", n)
	}
}

func TestRowsOfFilesComeAsTheyAreRead(t *testing.T) {
	a := newApp(os.Stdout, io.Discard)
	paths := rankSnapshots(t, 3)
	fatal.If(t, os.WriteFile(paths[1], []byte("no snapshot"), 0o600))
	files := ranks.Files(paths, snapshots.RankOf)
	before := files[0].Without(ranks.NotRead)
	if found := ranks.Findings([]ranks.Row{before, before}); len(found) > 0 {
		t.Errorf("of ranks that are not read yet: %+v", found)
	}
	rows, end := a.files.rowsOfFiles(t.Context(), files)
	defer end()
	read := func() bool {
		for _, r := range rows.Rows() {
			if r.Problem == ranks.NotRead {
				return false
			}
		}
		return true
	}
	for !read() {
		<-rows.Changed()
	}
	got := rows.Rows()
	if got[0].Rank.Rank != 0 || got[2].Rank.Rank != 2 || got[2].Growth != 1<<20 || got[2].PeakAllocated < 8<<20 || got[2].Problem != "" {
		t.Errorf("rank 2 has the row %+v", got[2])
	}
	if got[1].Problem == "" || got[1].Name != paths[1] {
		t.Errorf("a file that is no snapshot has the row %+v", got[1])
	}
}
