package tui_test

import (
	"context"
	"os"
	"testing"

	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui"
)

// TestMain lets BenchmarkDraw run on a real file, which only a test outside of
// the package may open: tui itself knows no file format.
func TestMain(m *testing.M) {
	if path := os.Getenv("MEMTOP_BENCH_FILE"); path != "" {
		tui.SetBenchTrace(func() *trace.Trace {
			source, err := snapshots.Open(context.Background(), path, snapshots.Options{})
			if err != nil {
				panic("tui_test: MEMTOP_BENCH_FILE: " + err.Error())
			}
			return source.Trace()
		})
	}
	os.Exit(m.Run())
}
