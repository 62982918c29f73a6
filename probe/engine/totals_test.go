package engine

import (
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// host is memory that nothing touches.
type host struct{ next uint64 }

func (h *host) Malloc(size int64) (uint64, error) {
	h.next += uint64(size)
	return h.next - uint64(size), nil
}

func (h *host) Free(uint64)                  {}
func (h *host) MemInfo() (free, total int64) { return 1 << 40, 1 << 40 }

// fragmented returns an allocator with so many blocks, of which every third is free.
func fragmented(t testing.TB, blocks int) *alloc.Allocator {
	t.Helper()
	a, err := alloc.New(&host{next: 1 << 40}, alloc.Options{Limit: 1 << 40})
	fatal.If(t, err)
	for i := range blocks {
		b, err := a.Alloc(int64(1000+i), 0, alloc.Tag{})
		fatal.If(t, err)
		if i%3 == 0 {
			a.Free(b)
		}
	}
	return a
}

func TestTotalsAreWhatTheStateAddsUpTo(t *testing.T) {
	a := fragmented(t, 1000)
	var want probe.Totals
	for _, s := range a.State(func() {}).Segments {
		want.Reserved += s.Size
		for i := range s.Blocks {
			if b := &s.Blocks[i]; b.State == trace.Allocated {
				want.Allocated, want.Requested = want.Allocated+b.Size, want.Requested+b.Requested
			}
		}
	}
	if got := Source(a).(probe.Counted).Totals(0); got != want || want.Allocated == 0 {
		t.Errorf("the totals are %+v, the state adds up to %+v", got, want)
	}
}

// BenchmarkInfo asks a program with 50,000 blocks, which it goes on changing, how it is:
// as a viewer of many ranks does ten times a second.
func BenchmarkInfo(b *testing.B) {
	a := fragmented(b, 50_000)
	p, err := probe.Listen(b.Context(), probe.Options{Path: filepath.Join(b.TempDir(), "probe", "a"), Ring: 1}, Source(a))
	fatal.If(b, err)
	b.Cleanup(func() { _ = p.Close() })
	teller, err := attach.Here.Teller(b.Context(), p.Path())
	fatal.If(b, err)
	defer teller.Close()
	for b.Loop() {
		for range 4 { // more than the ring keeps: what was told before is old
			one, err := a.Alloc(512, 0, alloc.Tag{})
			fatal.If(b, err)
			a.Free(one)
		}
		if _, err := teller.Info(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	held, _ := p.Cost()
	b.ReportMetric(float64(held)/float64(b.N), "held-ns/op")
}
