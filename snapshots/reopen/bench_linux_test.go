package reopen

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/snapshots"
)

// BenchmarkOpen opens a snapshot again that MEMTOP_BENCH_FILE names, from its entry. Run it with
//
//	MEMTOP_BENCH_FILE=g256.pickle go test -run '^$' -bench . ./snapshots/reopen
func BenchmarkOpen(b *testing.B) {
	path := os.Getenv("MEMTOP_BENCH_FILE")
	if path == "" {
		b.Skip("MEMTOP_BENCH_FILE names no snapshot")
	}
	c := &Cache{Folder: filepath.Join(b.TempDir(), "indexes"), Most: 2 << 30}
	file, _ := c.Look(path)
	decoded, err := snapshots.Open(b.Context(), path, snapshots.Options{})
	if err != nil {
		b.Fatal(err)
	}
	made := Of(decoded)
	for _, d := range made.Trace().Devices {
		made.Index(d.ID)
	}
	file.seen = time.Now()
	if err := c.Keep(b.Context(), file, made); err != nil {
		b.Fatal(err)
	}
	best, least := time.Hour, time.Hour
	for b.Loop() {
		began, used := time.Now(), cpu()
		if _, err := c.Open(b.Context(), path, nil); err != nil {
			b.Fatal(err)
		}
		best, least = min(best, time.Since(began)), min(least, cpu()-used)
	}
	b.ReportMetric(best.Seconds()*1e3, "best-ms")
	b.ReportMetric(least.Seconds()*1e3, "cpu-ms")
}

// BenchmarkContent reads all of that file, as is done of one that no entry knows.
func BenchmarkContent(b *testing.B) {
	f, err := os.Open(os.Getenv("MEMTOP_BENCH_FILE"))
	if err != nil {
		b.Skip("MEMTOP_BENCH_FILE names no snapshot")
	}
	defer f.Close() // only read from
	id, err := identify(f)
	if err != nil {
		b.Fatal(err)
	}
	best := time.Hour
	for b.Loop() {
		began := time.Now()
		if _, err := contentOf(b.Context(), f, id.Size, nil); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(began))
	}
	b.ReportMetric(best.Seconds()*1e3, "best-ms")
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(0, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
