package analysis

import (
	"fmt"
	"maps"
	"os"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/trace"
)

// naive replays a device the slow and obvious way, by the definitions of the
// report, to compare the index with.
type naive struct {
	requested []int64 // after each event, and at 0 before the first
	reserved  []int64
	alive     []map[uint64]int64 // after each event: sizes by address
}

func replay(d *trace.Device) naive {
	n := d.Events.Len()
	open := make(map[uint64]int64)
	before := make(map[uint64]bool) // addresses first seen by a free
	var initial int64
	for i := range n {
		e := d.Events.At(i)
		switch {
		case e.Kind == trace.Alloc:
			open[e.Addr] = e.Size
		case e.Kind.Closes():
			if _, ok := open[e.Addr]; !ok {
				initial += e.Size
				before[e.Addr] = true
			}
			delete(open, e.Addr)
		}
	}
	var reserved int64
	alive := make(map[uint64]int64)
	for _, s := range d.Final.Segments {
		reserved += s.Size
		for _, b := range s.Blocks {
			if _, ok := open[b.Addr]; !ok && b.State.Live() {
				initial += b.LiveRequested()
				alive[b.Addr] = b.LiveRequested()
			}
		}
	}
	for i := range n {
		reserved -= d.Events.At(i).ReservedDelta()
	}
	return forward(d, initial, reserved, alive)
}

// forward runs the events from the start that replay found.
func forward(d *trace.Device, requested, reserved int64, alive map[uint64]int64) naive {
	// What was freed first was alive from the start.
	seen := make(map[uint64]bool)
	for i := range d.Events.Len() {
		e := d.Events.At(i)
		if e.Kind.Closes() && !seen[e.Addr] {
			alive[e.Addr] = e.Size
		}
		if e.Kind == trace.Alloc || e.Kind.Closes() {
			seen[e.Addr] = true
		}
	}
	var out naive
	add := func() {
		now := make(map[uint64]int64, len(alive))
		maps.Copy(now, alive)
		out.alive = append(out.alive, now)
		out.requested = append(out.requested, requested)
		out.reserved = append(out.reserved, reserved)
	}
	add()
	for i := range d.Events.Len() {
		e := d.Events.At(i)
		switch {
		case e.Kind == trace.Alloc:
			alive[e.Addr] = e.Size
			requested += e.Size
		case e.Kind.Closes():
			requested -= alive[e.Addr]
			delete(alive, e.Addr)
		}
		reserved += e.ReservedDelta()
		add()
	}
	return out
}

// seeds returns how many random traces of n are tried: with MEMTOP_LONG=1 all, else half.
func seeds(n uint64) uint64 {
	if os.Getenv("MEMTOP_LONG") != "" {
		return n
	}
	return n / 2
}

// forRandom runs a test on random traces of several kinds.
func forRandom(t *testing.T, test func(t *testing.T, x *Index, want naive)) {
	t.Helper()
	for seed := range seeds(16) {
		for _, expandable := range []bool{false, true} {
			for _, ring := range []int{0, 150} {
				o := pytorchtest.Options{Seed: seed, Operations: 60 * int(seed+1), Expandable: expandable, Ring: ring, FreeSites: seed%2 == 1}
				t.Run(fmt.Sprintf("seed %d expandable %v ring %d", seed, expandable, ring), func(t *testing.T) {
					tr := pytorchtest.Random(o)
					d := &tr.Devices[0]
					test(t, NewIndex(tr, d), replay(d))
				})
			}
		}
	}
}

func TestLevelsEqualANaiveReplay(t *testing.T) {
	forRandom(t, func(t *testing.T, x *Index, want naive) {
		t.Helper()
		peak, peakEvent, peakReserved := want.requested[0], -1, want.reserved[0]
		for at := -1; at <= x.End(); at++ {
			if got := x.RequestedAt(at); got != want.requested[at+1] {
				t.Fatalf("requested after event %d: got %d, want %d", at, got, want.requested[at+1])
			}
			if got := x.ReservedAt(at); got != want.reserved[at+1] {
				t.Fatalf("reserved after event %d: got %d, want %d", at, got, want.reserved[at+1])
			}
			if want.requested[at+1] > peak {
				peak, peakEvent = want.requested[at+1], at
			}
			peakReserved = max(peakReserved, want.reserved[at+1])
		}
		walked := -1
		x.Walk(func(at int, requested, reserved int64) bool {
			if walked++; at != walked || requested != want.requested[at+1] || reserved != want.reserved[at+1] {
				t.Fatalf("walked to event %d, want %d: %d and %d, want %d and %d", at, walked, requested, reserved, want.requested[at+1], want.reserved[at+1])
			}
			return true
		})
		s := x.Summary()
		if s.PeakRequested != peak || s.PeakEvent != peakEvent || s.PeakReserved != peakReserved {
			t.Errorf("peak: got %d at %d, reserved %d; want %d at %d, reserved %d",
				s.PeakRequested, s.PeakEvent, s.PeakReserved, peak, peakEvent, peakReserved)
		}
		if s.InitialRequested != want.requested[0] || s.FinalRequested != want.requested[x.End()+1] || s.InitialReserved != want.reserved[0] {
			t.Errorf("ends: got %+v", s)
		}
	})
}

func TestAliveEqualsANaiveReplay(t *testing.T) {
	forRandom(t, func(t *testing.T, x *Index, want naive) {
		t.Helper()
		for at := -1; at <= x.End(); at++ {
			alive := x.AliveAt(at)
			if len(alive) != len(want.alive[at+1]) {
				t.Fatalf("after event %d: %d are alive, want %d", at, len(alive), len(want.alive[at+1]))
			}
			for i, a := range alive {
				if want.alive[at+1][a.Addr] != a.Size {
					t.Fatalf("after event %d: 0x%x holds %d, want %d", at, a.Addr, a.Size, want.alive[at+1][a.Addr])
				}
				if i > 0 && (alive[i-1].Size < a.Size || alive[i-1].Size == a.Size && alive[i-1].Open > a.Open) {
					t.Fatalf("after event %d: entries %d and %d are out of order", at, i-1, i)
				}
			}
		}
	})
}
