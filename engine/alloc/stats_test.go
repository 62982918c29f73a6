package alloc

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestEveryKeyOfMemoryStatsIsThere(t *testing.T) {
	var want []string
	for _, name := range []string{
		"active", "active_bytes", "allocated_bytes", "allocation", "inactive_split", "inactive_split_bytes",
		"requested_bytes", "reserved_bytes", "segment",
	} {
		for _, pool := range []string{"all", "large_pool", "small_pool"} {
			for _, metric := range []string{"allocated", "current", "freed", "peak"} {
				want = append(want, name+"."+pool+"."+metric)
			}
		}
	}
	for _, name := range []string{"oversize_allocations", "oversize_segments"} {
		for _, metric := range []string{"allocated", "current", "freed", "peak"} {
			want = append(want, name+"."+metric)
		}
	}
	want = append(want, "max_split_size", "num_alloc_retries", "num_device_alloc", "num_device_free",
		"num_ooms", "num_sync_all_streams")
	slices.Sort(want)
	a := newAllocator(t, newMemory(t, gib), Options{})
	stats := a.Stats()
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(stats.Map()))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if stats.MaxSplitSize != -1 {
		t.Errorf("max_split_size is %d, want -1 when it is not set", stats.MaxSplitSize)
	}
}

// TestCountersMeanWhatPyTorchsDo goes through one life of a block and looks at
// every counter that moves.
func TestCountersMeanWhatPyTorchsDo(t *testing.T) {
	a := newAllocator(t, newMemory(t, gib), Options{})
	first := must(t, a, 1000)
	second := must(t, a, 5*mib)
	a.Free(first)
	stats := a.Stats()
	got := stats.Map()
	for key, want := range map[string]int64{
		"allocation.small_pool.current":           0,
		"allocation.small_pool.peak":              1,
		"allocation.all.allocated":                2,
		"allocation.all.freed":                    1,
		"allocated_bytes.large_pool.current":      5 * mib,
		"allocated_bytes.all.peak":                5*mib + 1024,
		"requested_bytes.small_pool.allocated":    1000,
		"requested_bytes.all.current":             5 * mib,
		"reserved_bytes.all.current":              22 * mib,
		"segment.all.current":                     2,
		"inactive_split.all.current":              1, // the rest of the large segment
		"inactive_split.small_pool.current":       0, // the small segment is whole again
		"inactive_split.small_pool.freed":         1, // its rest
		"inactive_split_bytes.large_pool.current": 15 * mib,
		"inactive_split_bytes.small_pool.peak":    2*mib - 1024,
		"num_device_alloc":                        2,
		"num_device_free":                         0,
	} {
		if got[key] != want {
			t.Errorf("%s is %d, want %d", key, got[key], want)
		}
	}
	a.ResetPeak()
	stats = a.Stats()
	got = stats.Map()
	for key, value := range got {
		if name, ok := strings.CutSuffix(key, ".peak"); ok && value != got[name+".current"] {
			t.Errorf("%s is %d after the reset, current %d", key, value, got[name+".current"])
		}
	}
	a.Free(second)
}

func TestSummaryGolden(t *testing.T) {
	a := newAllocator(t, newMemory(t, 64*gib), Options{Config: "max_split_size_mb:200"})
	for i := range 300 {
		b := must(t, a, int64(i)*1000+1)
		if i%3 == 0 {
			a.Free(b)
		}
	}
	must(t, a, 3*gib)
	mustFail(t, a, 100*gib)
	stats := a.Stats()
	for name, abbreviated := range map[string]bool{"whole": false, "abbreviated": true} {
		t.Run(name, func(t *testing.T) { compareGolden(t, name, stats.Summary(0, abbreviated)) })
	}
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "TestSummary", name+".golden")
	if *update {
		fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o755))
		fatal.If(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	fatal.If(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
