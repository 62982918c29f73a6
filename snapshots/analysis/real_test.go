package analysis

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestMapsOfRealFilesAddUpAtEveryMoment(t *testing.T) {
	onfile.Shared(t, func(t *testing.T, name string, tr *trace.Trace) {
		t.Helper()
		if name == "trimmed_by_hand.torch2.10.pickle" {
			t.Skip("its final segments are not those of its events")
		}
		x := NewIndex(tr, &tr.Devices[0])
		for at := -1; at <= x.End(); at += 1 + x.End()/150 {
			m := x.SegmentsAt(at)
			if m.Reserved != x.ReservedAt(at) || m.Requested != x.RequestedAt(at) || m.Outside != 0 {
				t.Fatalf("after event %d: the map has %d reserved, %d requested, %d outside; the levels are %d and %d",
					at, m.Reserved, m.Requested, m.Outside, x.ReservedAt(at), x.RequestedAt(at))
			}
		}
	})
}
