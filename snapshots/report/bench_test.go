package report_test

import (
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/report"
)

// BenchmarkReport reads the file at $MEMTOP_BENCH_FILE and reports on it, as `memtop report
// --json` does.
func BenchmarkReport(b *testing.B) {
	path := os.Getenv("MEMTOP_BENCH_FILE")
	if path == "" {
		b.Skip("MEMTOP_BENCH_FILE names no file")
	}
	for b.Loop() {
		source, err := snapshots.Open(b.Context(), path, snapshots.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := json.NewEncoder(io.Discard).Encode(report.New(source.Trace())); err != nil {
			b.Fatal(err)
		}
		if err := source.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
