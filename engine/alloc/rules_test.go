package alloc

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

func rulesOf(t *testing.T, release string) Rules {
	t.Helper()
	r, err := RulesOf(release)
	fatal.If(t, err)
	return r
}

// Two blocks of 1 MiB are free; the one at the lower address is in the later segment.
func TestTheReleaseDecidesWhichBlockIsTaken(t *testing.T) {
	for release, lower := range map[string]bool{"2.6": true, "2.11.0+cu130": true, "2.12.0": false, "2.13": false, "2.15.0+cu132": false} {
		a, _ := ruled(t, release, "")
		gone := []Allocation{must(t, a, 1<<20), must(t, a, 1<<20)}
		early := []Allocation{must(t, a, 1<<20), must(t, a, 1<<20)}
		a.Free(gone[0])
		a.Free(gone[1])
		a.EmptyCache() // the next segment gets its address
		late := []Allocation{must(t, a, 1<<20), must(t, a, 1<<20)}
		low, high := late[0].Addr(), early[0].Addr()
		if low >= high {
			t.Fatalf("%s: the later segment is at %#x, the earlier at %#x", release, low, high)
		}
		a.Free(late[0])
		a.Free(early[0])
		if got := must(t, a, 1<<20).Addr(); (got == low) != lower {
			t.Errorf("%s takes the block at %#x, of %#x and %#x", release, got, low, high)
		}
	}
}

// ruled returns an allocator with the rules of a release, and its driver.
func ruled(t *testing.T, release, settings string) (*Allocator, *memory) {
	t.Helper()
	m := newMemory(t, 1<<30)
	return newAllocator(t, m, Options{Config: settings, Rules: rulesOf(t, release)}), m
}

func TestAFractionOfOneIsALimitBefore210(t *testing.T) {
	for release, want := range map[string]bool{"2.9": true, "2.10": false} {
		a, _ := ruled(t, release, "")
		a.SetFraction(1)
		if _, limited := a.Limit(); limited != want {
			t.Errorf("%s: limited is %v", release, limited)
		}
	}
}

func TestTheLastSizeIsAmongTheLaterOnesBefore210(t *testing.T) {
	for release, want := range map[string]int64{"2.9": 24 << 20, "2.10": 20 << 20} {
		a, _ := ruled(t, release, "roundup_power2_divisions:[16:4,>:2]")
		if got := must(t, a, 19<<20).Size(); got != want {
			t.Errorf("%s: a block of %d bytes, want %d", release, got, want)
		}
	}
}

func TestAReleaseRefusesLaterSettings(t *testing.T) {
	for release, known := range map[string]bool{"2.10": false, "2.11": true} {
		_, err := New(newMemory(t, 1<<30), Options{Config: "large_segment_size_mb:40", Rules: rulesOf(t, release)})
		if (err == nil) != known {
			t.Errorf("%s: %v", release, err)
		}
	}
}

func TestOnlyKnownReleasesHaveRules(t *testing.T) {
	for _, release := range []string{"", "2", "2.0", "2.16", "3.1", "2.x", "2.9b"} {
		if r, err := RulesOf(release); err == nil {
			t.Errorf("%q has the rules %v", release, r)
		}
	}
}

func TestDifferencesAreTheClausesThatChanged(t *testing.T) {
	newest := rulesOf(t, "2.15")
	if !newest.Same(rulesOf(t, "2.13")) {
		t.Error("2.15 differs from 2.13")
	}
	for facts, want := range map[Facts]int{{}: 1, {Fraction: true}: 2, {LaterSizes: true}: 2, {Pools: true}: 5, {true, true, true}: 7} {
		d := newest.Differences(rulesOf(t, "2.9"), facts)
		if !slices.Contains(d, orderTexts[bySegment]) || len(d) != want {
			t.Errorf("with %+v 2.15 differs from 2.9 in %q", facts, d)
		}
	}
}

// While a MemPool takes requests, what happens to the cache is up to the release.
func TestTheReleaseDecidesWhatAPoolInUseForbids(t *testing.T) {
	const dropped, kept = 2 << 20, 4 << 20 // what stays of a pool without users, and of the cache
	for release, left := range map[string]int64{"2.7": kept, "2.8": dropped, "2.12": dropped, "2.13": 0} {
		a, _ := ruled(t, release, "")
		inPool(t, a, trace.Pool{1, 0}, func() { a.Free(must(t, a, 512)) })
		fatal.If(t, a.ReleasePool(trace.Pool{1, 0}))
		a.Free(must(t, a, 512))
		inPool(t, a, trace.Pool{0, 1}, func() { a.EmptyCache() })
		if stats := a.Stats(); stats.Reserved() != left {
			t.Errorf("%s keeps %d bytes, want %d", release, stats.Reserved(), left)
		}
	}
}

// The order is the one that PyTorch 2.15 has, whatever the kinds of the pools are.
func TestPoolsAreEmptiedInTheOrderOfATable(t *testing.T) {
	a, _ := ruled(t, "2.15", "")
	a.SetHistory(100)
	pools := []trace.Pool{{1, 0}, {0, 2}, {0, 3}, {4, 0}, {0, 5}, {6, 0}}
	for i, id := range pools {
		inPool(t, a, id, func() { a.Free(must(t, a, int64(i+11)*2<<20)) })
	}
	for _, id := range pools {
		fatal.If(t, a.ReleasePool(id))
	}
	a.EmptyCache()
	var got []int64
	for _, size := range sizes(a, trace.SegmentFree) {
		got = append(got, size>>21-10)
	}
	if want := []int64{5, 2, 4, 1, 6, 3}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
	if a.unowned.count != 0 || len(a.private) != 0 {
		t.Errorf("%d and %d pools are left", a.unowned.count, len(a.private))
	}
}

// A request that finds no memory gets a pool's free block, before or after the cache
// went back.
func TestAPoolServesWhenMemoryRunsOut(t *testing.T) {
	for release, kept := range map[string]int64{"2.10": 0, "2.11": 20 << 20} {
		a, m := ruled(t, release, "")
		pool := trace.Pool{0, 7}
		fatal.If(t, a.MakePool(pool, PoolOptions{OnOOM: true}))
		inPool(t, a, pool, func() { a.Free(must(t, a, 60<<20)) })
		a.Free(must(t, a, 20<<20))
		m.used = m.total
		got := must(t, a, 50<<20)
		if addr := got.Addr(); !slices.Contains(a.PoolBlocks(pool), addr) {
			t.Errorf("%s: the block at %#x is not the pool's", release, addr)
		}
		if stats := a.Stats(); stats.Reserved() != 60<<20+kept || stats.OOMs != 0 {
			t.Errorf("%s: %d bytes are reserved", release, stats.Reserved())
		}
	}
}

func TestEarlierPoolsServeFromExpandableSegments(t *testing.T) {
	for release, serves := range map[string]bool{"2.9": true, "2.10": false} {
		a, m := ruled(t, release, "expandable_segments:True")
		pool := trace.Pool{0, 7}
		fatal.If(t, a.MakePool(pool, PoolOptions{OnOOM: true}))
		inPool(t, a, pool, func() { a.Free(must(t, a, 60<<20)) })
		m.used = m.total
		if _, err := a.Alloc(50<<20, 0, Tag{}); (err == nil) != serves {
			t.Errorf("%s: %v", release, err)
		}
	}
}

func TestAPoolWithoutSplitsHandsOutWholeBlocks(t *testing.T) {
	a, _ := ruled(t, "2.10", "")
	pool := trace.Pool{0, 7}
	fatal.If(t, a.MakePool(pool, PoolOptions{NoSplit: true}))
	inPool(t, a, pool, func() {
		if got := must(t, a, 512).Size(); got != trace.SmallSegment {
			t.Errorf("a block of %d bytes, want the segment's", got)
		}
	})
}

func TestOnlyLaterReleasesHaveOptionsOfPools(t *testing.T) {
	for release, known := range map[string][2]bool{"2.7": {false, false}, "2.8": {true, false}, "2.10": {true, true}} {
		for i, o := range []PoolOptions{{OnOOM: true}, {NoSplit: true}} {
			a, _ := ruled(t, release, "")
			if err := a.MakePool(trace.Pool{0, 7}, o); (err == nil) != known[i] {
				t.Errorf("%s: %+v: %v", release, o, err)
			}
		}
	}
}

// A stream that used a block in a capture is waited for only if it did so before.
func TestAUseInACaptureIsNotWaitedFor(t *testing.T) {
	a, _ := ruled(t, "2.15", "")
	b := must(t, a, 512)
	inPool(t, a, trace.Pool{1, 0}, func() {
		a.RecordStream(b, 7)
		a.Free(b)
		if stats := a.Stats(); stats.Active.All.Current != 1 {
			t.Error("the block is free in the capture")
		}
	})
	a.Poll()
	if stats := a.Stats(); stats.Active.All.Current != 0 {
		t.Error("the block waits for a stream that used it in the capture")
	}
}

func inPool(t *testing.T, a *Allocator, id trace.Pool, do func()) {
	t.Helper()
	fatal.If(t, a.BeginPool(id, nil))
	do()
	fatal.If(t, a.EndPool(id))
}
