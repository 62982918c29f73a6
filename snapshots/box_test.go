package snapshots

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/blackbox"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// TestABoxOfHolesTakesLittleMemory has a large box, of which a few pages are
// there: reading all of it took more than twice as much memory.
func TestABoxOfHolesTakesLittleMemory(t *testing.T) {
	path := boxOfHoles(t, 100)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := Open(t.Context(), path, Options{})
	runtime.ReadMemStats(&after)
	fatal.If(t, err)
	if last := s.Trace().Live.Ended.Devices[0]; last.Events != 100 || last.Requested != 100*4096 {
		t.Errorf("the box ends with %+v, want 100 events of 4096 bytes", last)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("reading it took %d MiB, want at most 16", took>>20)
	}
}

// boxOfHoles writes a large box with the state of a program that did
// nothing and some allocations after it.
func boxOfHoles(t *testing.T, events int) string {
	t.Helper()
	data := make([]byte, 256<<20) // of which the system gives what is touched
	w, err := blackbox.NewWriter(data, []int{0})
	fatal.If(t, err)
	w.Begin([]blackbox.Sums{{}})
	e := wire.NewEncoder(w)
	e.Hello(&wire.Hello{PID: 4711, Command: "train", Devices: []int{0}})
	tables := trace.NewInterner().View()
	e.Tables(&tables)
	e.Base(0, 0, &trace.State{Segments: []trace.Segment{{Addr: 1 << 30, Size: 1 << 20, Given: trace.GaveAddr | trace.GaveSize}}}, 0, "")
	fatal.If(t, e.Flush())
	w.Publish()
	for i := range events {
		w.Ring(0).Record(&trace.Event{Kind: trace.Alloc, Addr: 1<<30 + uint64(i)*4096, Size: 4096, Time: int64(i), Slack: 1})
	}
	path := filepath.Join(t.TempDir(), "1-1.box")
	fatal.If(t, writeSparse(path, data))
	return path
}

// writeSparse writes a file with holes where the data is zero.
func writeSparse(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	const piece = 1 << 20
	zeros := make([]byte, piece)
	for at := 0; at < len(data); at += piece {
		if part := data[at : at+piece]; string(part) != string(zeros) {
			if _, err := f.WriteAt(part, int64(at)); err != nil {
				return err
			}
		}
	}
	return f.Truncate(int64(len(data)))
}
