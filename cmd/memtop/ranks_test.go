package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/rogpeppe/go-internal/testscript"
)

// ranked is a program with a probe that says which rank it is, until it is ended: what
// RANKED says, which is the job, the rank, the world, and how many mebibytes of
// activations there are at the peak of its steps. After the first one, it makes one after
// each change of its settings.
func ranked() {
	place := &trace.Rank{Launcher: "torchrun"}
	var activations int64
	if _, err := fmt.Sscan(os.Getenv("RANKED"), &place.Job, &place.Rank, &place.World, &activations); err != nil {
		panic(err)
	}
	place.Local, activations = place.Rank, activations<<20
	program := probetest.New()
	changed := make(chan struct{}, 16) // never closed
	p, err := probe.Listen(context.Background(), probe.Options{Rank: place, Program: "train.py", Control: stepper{program, changed}}, program)
	if err != nil {
		panic(err)
	}
	program.Run(10)
	for number := int64(1); ; number++ {
		p.Step(trace.Step{
			Number: number, Duration: 1e6, Allocated: 5 * probetest.Block, Reserved: 1 << 20,
			PeakAllocated: 8<<20 + activations, PeakReserved: 200 << 20,
			AtPeak:   []trace.Amount{{Name: "parameter", Bytes: 8 << 20}, {Name: "activation", Bytes: activations}},
			Settings: []trace.Value{{Key: "amp", Value: program.Options()[1].Value}},
		})
		if number == 1 {
			fmt.Println("ready")
		}
		<-changed
	}
}

// stepper is a program that tells of each change.
type stepper struct {
	*probetest.Program
	changed chan struct{}
}

func (s stepper) Set(key, value string) error {
	defer func() { s.changed <- struct{}{} }()
	return s.Program.Set(key, value)
}

// job starts a process for each rank of a job, with so many mebibytes of activations
// each, and sets the variables VARIABLE0, VARIABLE1 and so on to their pids:
//
//	job VARIABLE NAME MEBIBYTES...
func job(ts *testscript.TestScript, _ bool, args []string) {
	path, err := os.Executable()
	ts.Check(err)
	for i, activations := range args[2:] {
		cmd := exec.Command(path) //nolint:noctx // the script's end ends it
		cmd.Args = []string{"ranked"}
		place := fmt.Sprintf("RANKED=%s %d %d %s", args[1], i, len(args[2:]), activations)
		cmd.Env = append(os.Environ(), place, "MEMTOP_DIR="+ts.Getenv("MEMTOP_DIR"))
		start(ts, cmd)
		ts.Setenv(args[0]+strconv.Itoa(i), strconv.Itoa(cmd.Process.Pid))
	}
}

func TestOneJobIsMeantWithoutANameWhereThereIsNoOther(t *testing.T) {
	rank := func(pid int, job string, number int) attach.Process {
		return attach.Process{PID: pid, Socket: job + strconv.Itoa(number), Info: &protocol.Info{Rank: &trace.Rank{Job: job, Rank: number, World: 2}}}
	}
	tests := map[string]struct {
		all  []attach.Process
		want string
	}{
		"one job":         {[]attach.Process{{PID: 9, Info: &protocol.Info{}}, rank(1, "a", 1), rank(2, "a", 0)}, "2 1"},
		"two jobs":        {[]attach.Process{rank(1, "a", 0), rank(2, "b", 0), rank(3, "a", 1)}, "there are several jobs"},
		"no job":          {[]attach.Process{{PID: 9, Info: &protocol.Info{}}}, "there is no job of several ranks that can be attached to"},
		"nothing at all":  {nil, "there is no job of several ranks that can be attached to"},
		"none that talks": {[]attach.Process{{PID: 9, Problem: &attach.SilentError{}}}, "there is no job of several ranks that can be attached to"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			job, err := onlyJob(test.all)
			got := strings.Join(targets(job), " ")
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

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
