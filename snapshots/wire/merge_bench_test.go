package wire_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/wire"
)

// BenchmarkSnapshots reads a real snapshot of which nothing is new, as of a program
// that is looked at more often than its memory changes.
func BenchmarkSnapshots(b *testing.B) {
	pickle, err := os.ReadFile(filepath.Join(pytorchtest.SharedFolder(b), "training_medium_512.torch2.10.pickle"))
	if err != nil {
		b.Fatal(err)
	}
	r, w := bytes.NewReader(nil), bytes.Buffer{}
	e := wire.NewEncoder(&w)
	e.Hello(greeting())
	for range b.N + 1 {
		e.Snapshot(pickle)
		e.Counters(wire.Counters{})
	}
	if err := e.Flush(); err != nil {
		b.Fatal(err)
	}
	r.Reset(w.Bytes())
	s := wire.NewStream(r, wire.StreamOptions{})
	b.SetBytes(int64(len(pickle)))
	b.ReportAllocs()
	b.ResetTimer()
	if err := drain(b, s); err != nil {
		b.Fatal(err)
	}
}
