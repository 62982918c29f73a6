package analysis

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/trace"
)

// naiveRoom counts page by page and tries request after request.
func naiveRoom(x *Index, m *Map, driver int64, expandable bool) (returnable, largest int64) {
	for i := range m.Segments {
		s := &m.Segments[i]
		page := int64(20 << 20)
		if s.Class == "small" {
			page = 2 << 20
		}
		if x.Trace().Tables.Pools[s.Pool] != (trace.Pool{}) {
			continue
		}
		if !s.Expandable {
			page = s.Size
		}
		for from := int64(0); page > 0 && (from+page <= s.Size || s.LiveCount == 0 && from < s.Size); from += page {
			free := true
			for _, b := range s.Blocks {
				at := int64(b.Addr - s.Addr)
				free = free && (b.State == trace.Inactive || at >= from+page || at+b.Size <= from)
			}
			if free {
				returnable += min(page, s.Size-from)
			}
		}
	}
	for size := int64(512); size <= returnable+driver; size += 512 {
		segment := (size + 2<<20 - 1) / (2 << 20) * (2 << 20)
		switch {
		case size <= 1<<20:
			segment = 2 << 20
		case expandable:
			segment = (size + 20<<20 - 1) / (20 << 20) * (20 << 20)
		case size < 10<<20:
			segment = 20 << 20
		}
		if segment <= returnable+driver {
			largest = size
		}
	}
	return returnable, max(largest, m.LargestFit())
}

func TestRoomEqualsTryingEveryRequest(t *testing.T) {
	served := 0
	for seed := range uint64(10) {
		tr := pytorchtest.Random(pytorchtest.Options{Seed: seed, Operations: 200, Expandable: seed%2 == 1})
		x := NewIndex(tr, &tr.Devices[0])
		for at := -1; at <= x.End(); at += 1 + x.End()/12 {
			m := x.SegmentsAt(at)
			r := LargestRequestIn(x, m)
			returnable, largest := naiveRoom(x, m, max(r.Driver, 0), seed%2 == 1)
			if r.Returnable != returnable || r.Largest != largest || r.Pinned != m.Free-returnable {
				t.Errorf("seed %d after event %d: got %+v, want %d returnable, %d at most", seed, at, r, returnable, largest)
			}
			if returnable > 0 {
				served++
			}
		}
	}
	if served == 0 {
		t.Error("nothing could ever be given back")
	}
}

func TestRoomCountsWhatTheDriverSaidItHad(t *testing.T) {
	x := indexOf(t, `
device 0
segment_alloc 0x10000000 20971520
alloc 0x10000000 12582912
oom 31461376 33554432
segment 0x10000000 20971520 stream=0 type="large"
block 0x10000000 12582912 active_allocated requested=12582912
block 0x10c00000 8388608 inactive
`)
	r := LargestRequestIn(x, x.SegmentsAt(2))
	if want := (LargestRequest{Cached: 8 << 20, Pinned: 8 << 20, Driver: 30<<20 + 4096, Largest: 30 << 20}); r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
}
