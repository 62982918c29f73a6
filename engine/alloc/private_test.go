package alloc

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestAPrivatePoolKeepsItsMemoryUntilItIsReleased(t *testing.T) {
	d := newMemory(t, gib)
	a := newAllocator(t, d, Options{})
	pool := trace.Pool{0, 1}
	begin := func() {
		t.Helper()
		fatal.If(t, a.BeginPool(pool, func(s Stream) bool { return s == 5 }))
	}
	begin()
	inside, outside := mustOn(t, a, mib, 5), mustOn(t, a, mib, 6)
	addr := inside.Addr()
	tr := a.Snapshot()
	for _, s := range tr.Devices[0].Final.Segments {
		want := trace.Pool{}
		if s.Blocks[0].Addr == addr {
			want = pool
		}
		if got := tr.Tables.Pools[s.Pool]; got != want {
			t.Errorf("segment %#x is in pool %v, want %v", s.Addr, got, want)
		}
	}
	if err := a.BeginPool(pool, nil); err == nil {
		t.Error("a pool that is begun can be begun again")
	}
	if err := a.EndPool(pool); err != nil {
		t.Error(err)
	}
	a.Free(inside)
	a.Free(outside)
	a.EmptyCache()
	if d.used != 2*mib {
		t.Errorf("%d bytes are left, want the pool's segment", d.used)
	}
	begin()
	if again := mustOn(t, a, mib, 5); again.Addr() != addr {
		t.Error("the pool does not use its memory again")
	} else {
		a.Free(again)
	}
	for _, err := range []error{a.EndPool(pool), a.ReleasePool(pool), a.ReleasePool(pool)} {
		if err != nil {
			t.Error(err)
		}
	}
	a.EmptyCache()
	if d.used != 0 || len(a.private) != 0 {
		t.Errorf("%d bytes and %d pools are left", d.used, len(a.private))
	}
}

func TestFreesWaitUntilRequestsAreNoLongerDiverted(t *testing.T) {
	d := newMemory(t, gib)
	a := newAllocator(t, d, Options{})
	b := must(t, a, mib)
	addr := b.Addr()
	a.RecordStream(b, 1)
	fatal.If(t, a.BeginPool(trace.Pool{1, 0}, nil))
	a.Free(b)
	if d.last != 0 {
		t.Error("an event was recorded while requests were diverted")
	}
	stats := a.Stats()
	if got := stats.Breakdown().PendingFree; got != mib {
		t.Errorf("%d bytes are pending", got)
	}
	checkRecount(t, a)
	fatal.If(t, a.EndPool(trace.Pool{1, 0}))
	must(t, a, 512)
	if d.last != 1 {
		t.Errorf("%d events were recorded afterwards, want 1", d.last)
	}
	d.finish(1)
	if again := must(t, a, mib); again.Addr() != addr {
		t.Error("the block does not come back")
	}
}
