package timeline

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/page"
)

func smallAxis(time bool) axis {
	tr := tuitest.Small()
	x := analysis.NewIndex(tr, &tr.Devices[0])
	return axis{index: x, time: time, n: tr.Devices[0].Events.Len()}
}

// good fails the test unless a window is inside the trace and not too narrow.
func good(t *testing.T, a axis, w window) {
	t.Helper()
	if w.from < 0 || w.to > a.n || w.to-w.from < narrowest {
		t.Fatalf("window %v of %d events", w, a.n)
	}
}

func TestZoomingInKeepsTheCursorAndOutReachesEverything(t *testing.T) {
	for name, a := range map[string]axis{"by events": smallAxis(false), "by time": smallAxis(true)} {
		t.Run(name, func(t *testing.T) {
			for at := 0; at < a.n; at += 7 {
				w := a.whole()
				for range 40 {
					w = a.zoom(w, at, 0.5)
					good(t, a, w)
					if at < w.from || at >= w.to {
						t.Fatalf("zooming in around %d left it: %v", at, w)
					}
				}
				if w.to-w.from > 4*narrowest {
					t.Errorf("zooming in ends at %v", w)
				}
				for range 60 {
					w = a.zoom(w, at, 2)
					good(t, a, w)
				}
				if w != a.whole() {
					t.Errorf("zooming out ends at %v", w)
				}
			}
		})
	}
}

func TestPanningReachesBothEndsAndKeepsItsWidth(t *testing.T) {
	a := smallAxis(false)
	w := a.zoom(a.whole(), 100, 0.25)
	span := w.to - w.from
	for range 100 {
		w = a.pan(w, -0.5)
		good(t, a, w)
	}
	if w.from != 0 || w.to-w.from != span {
		t.Errorf("panned left to %v, was %d wide", w, span)
	}
	for range 100 {
		w = a.pan(w, 0.5)
		good(t, a, w)
	}
	if w.to != a.n || w.to-w.from != span {
		t.Errorf("panned right to %v, was %d wide", w, span)
	}
}

func TestIncludingMovesNoFartherThanNeeded(t *testing.T) {
	a := smallAxis(false)
	w := window{100, 150}
	for event, want := range map[int]window{
		120: {100, 150}, 150: {101, 151}, 97: {97, 147}, 0: {0, 50}, -1: {0, 50}, 246: {a.n - 50, a.n},
	} {
		if got := a.include(w, event); got != want {
			t.Errorf("to show %d the window went to %v, want %v", event, got, want)
		}
	}
}

func TestColumnOf(t *testing.T) {
	columns := []analysis.Column{{From: 0, To: 3}, {From: 3, To: 3}, {From: 3, To: 7}, {From: 7, To: 8}}
	for event, want := range map[int]int{0: 0, 2: 0, 3: 2, 6: 2, 7: 3, 99: 3} {
		if got := columnOf(columns, event); got != want {
			t.Errorf("event %d is in column %d, want %d", event, got, want)
		}
	}
}

// TestTheListsAddUp compares the lists under the chart with the level at each
// event and with the chart's own column, for every way of banding.
func TestTheListsAddUp(t *testing.T) {
	tr := tuitest.Small()
	x := analysis.NewIndex(tr, &tr.Devices[0])
	byCategories := x.Timeline(0, x.End()+1, x.End()+1)
	byAllocations := x.Timeline(0, x.End()+1, x.End()+1)
	byAllocations.SplitByAllocation(x, 10)
	for by, chart := range []*analysis.Timeline{byCategory: &byCategories, byAllocation: &byAllocations} {
		for at := -1; at <= x.End(); at += 11 {
			q := listQuestion{index: page.Edition{Index: x}, alive: aliveAt(t.Context(), aliveQuestion{index: page.Edition{Index: x}, at: at}), chart: chart, by: banding(by), band: allBands}
			l := makeLists(t.Context(), q)
			sum := int64(0)
			for _, g := range l.groups[1:] {
				sum += g.bytes
				if at >= 0 && g.bytes != chart.Columns[at].Bands[g.band] {
					t.Errorf("banding %d at %d: %s has %d, on the chart %d", by, at, g.name, g.bytes, chart.Columns[at].Bands[g.band])
				}
			}
			if want := x.RequestedAt(at); sum != want || l.groups[0].bytes != want {
				t.Errorf("banding %d at %d: the rows sum to %d and say %d, want %d", by, at, sum, l.groups[0].bytes, want)
			}
			if len(l.alive) != l.groups[0].count {
				t.Errorf("banding %d at %d: %d alive, %d counted", by, at, len(l.alive), l.groups[0].count)
			}
		}
	}
}
