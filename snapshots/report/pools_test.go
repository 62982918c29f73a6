package report_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// private is what requests of one stream are diverted to.
const private alloc.Stream = 5

// usedAllocator has memory of all kinds: small and large blocks, live and free, in a pool of
// a stream's own and outside, some of it wholly free.
func usedAllocator(t *testing.T, config string) *alloc.Allocator {
	t.Helper()
	a, err := alloc.New(dry.NewMemory(8<<30), alloc.Options{Config: config})
	fatal.If(t, err)
	fatal.If(t, a.BeginPool(trace.Pool{0, 1}, func(s alloc.Stream) bool { return s == private }))
	random := rand.New(rand.NewPCG(1, 2))
	var live []alloc.Allocation
	for range 400 {
		size := int64(1 + random.IntN(4<<10))
		if random.IntN(3) == 0 {
			size *= 4 << 10
		}
		b, err := a.Alloc(size, []alloc.Stream{0, private}[random.IntN(2)], alloc.Tag{})
		fatal.If(t, err)
		live = append(live, b)
		if at := random.IntN(len(live)); random.IntN(10) < 6 {
			a.Free(live[at])
			live = append(live[:at], live[at+1:]...)
		}
	}
	b, err := a.Alloc(512, 6, alloc.Tag{}) // in a segment by itself
	fatal.If(t, err)
	a.Free(b)
	return a
}

// TestPoolsAreTheAllocatorsOwnStatistics adds the rows of all pools up.
func TestPoolsAreTheAllocatorsOwnStatistics(t *testing.T) {
	for name, config := range map[string]string{"segments": "", "expandable segments": "expandable_segments:True"} {
		t.Run(name, func(t *testing.T) {
			a := usedAllocator(t, config)
			pools := report.New(a.Snapshot()).Devices[0].Pools
			if len(pools) != 2 || pools[1].ID != [2]int64{0, 1} {
				t.Fatalf("got %+v, want the default pool and a private one", pools)
			}
			stats := a.Stats()
			checkParts(t, &stats, "small", func(c *alloc.PoolCounter) int64 { return c.Small().Current }, &pools[0].Small, &pools[1].Small)
			checkParts(t, &stats, "large", func(c *alloc.PoolCounter) int64 { return c.Large().Current }, &pools[0].Large, &pools[1].Large)
		})
	}
}

// checkParts wants parts to add up to what an allocator counts.
func checkParts(t *testing.T, s *alloc.Stats, name string, of func(*alloc.PoolCounter) int64, parts ...*report.PoolPart) {
	t.Helper()
	var got report.PoolPart
	for _, p := range parts {
		got.ReservedBytes += p.ReservedBytes
		got.ActiveBytes += p.ActiveBytes
		got.RequestedBytes += p.RequestedBytes
		got.InactiveSplitBytes += p.InactiveSplitBytes
		got.ReleasableBytes += p.ReleasableBytes
	}
	want := report.PoolPart{
		ReservedBytes: of(&s.ReservedBytes), ActiveBytes: of(&s.ActiveBytes), RequestedBytes: of(&s.RequestedBytes), InactiveSplitBytes: of(&s.InactiveSplitBytes),
	}
	want.ReleasableBytes = want.ReservedBytes - want.ActiveBytes - want.InactiveSplitBytes
	if diff := cmp.Diff(want, got); diff != "" || want.ActiveBytes == 0 || want.ReleasableBytes == 0 {
		t.Errorf("%s pools (-allocator +report):\n%s", name, diff)
	}
}

func TestPoolsAreATable(t *testing.T) {
	var text strings.Builder
	fatal.If(t, report.New(usedAllocator(t, "").Snapshot()).Text(&text, 80))
	_, table, found := strings.Cut(text.String(), "  pool at end    segments    reserved      active  inactive split  releasable\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []string
	for line := range strings.Lines(table) {
		rows = append(rows, strings.TrimSpace(line[:16]))
	}
	if diff := cmp.Diff([]string{"small", "large", "(0, 1) small", "(0, 1) large", "all"}, rows); !found || diff != "" {
		t.Errorf("rows (-want +got):\n%s\nof\n%s", diff, text.String())
	}
}
