package alloc

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestABlockThatWasFreedIsRefused(t *testing.T) {
	a := newAllocator(t, newMemory(t, gib), Options{})
	for name, use := range map[string]func(Allocation){
		"free":          a.Free,
		"record stream": func(b Allocation) { a.RecordStream(b, 1) },
		"retag":         func(b Allocation) { a.Retag(b, Tag{}) },
		"tag":           func(b Allocation) { a.TagOf(b) },
		"address":       func(b Allocation) { b.Addr() },
	} {
		t.Run(name, func(t *testing.T) {
			b := must(t, a, 512)
			a.Free(b)
			again := must(t, a, 512) // the same memory, and the same struct in time
			defer a.Free(again)
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			use(b)
		})
	}
}

func TestNoBytesAreNoBlock(t *testing.T) {
	a := newAllocator(t, newMemory(t, gib), Options{History: 10})
	b, err := a.Alloc(0, 0, Tag{})
	if err != nil || b != (Allocation{}) || b.Addr() != 0 || b.Size() != 0 || b.Requested() != 0 || b.Stream() != 0 {
		t.Errorf("got %v, %v", b, err)
	}
	a.RecordStream(b, 1)
	a.Retag(b, Tag{})
	a.Free(b)
	if got := kinds(a, 10); len(got) != 0 {
		t.Errorf("events: %v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a negative request does not panic")
		}
	}()
	must(t, a, -1)
}

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
	fatal.If(t, a.EndPool(pool))
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
