package analysis

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// checkArrivals compares what stays and what comes with what is alive.
func checkArrivals(t *testing.T, x *Index, from, at int) {
	t.Helper()
	came, ok := x.Arrivals(from, at)
	if !ok {
		return
	}
	all := slices.Clone(came)
	for _, a := range x.AliveAt(from) {
		if a.Open <= at && at < a.Close {
			all = append(all, a)
		}
	}
	order := func(a, b trace.Allocation) int {
		return cmp.Or(cmp.Compare(uint64(b.Size), uint64(a.Size)), cmp.Compare(age(a.ID), age(b.ID)))
	}
	if !slices.IsSortedFunc(came, order) {
		t.Fatalf("from event %d to %d: arrivals are not the largest first and the oldest among equals", from, at)
	}
	slices.SortFunc(all, order)
	if want := x.AliveAt(at); !slices.Equal(all, want) {
		t.Fatalf("from event %d to %d: got %v, want %v", from, at, all, want)
	}
}

func TestArrivalsAndThoseWhoStayAreAllThatIsAlive(t *testing.T) {
	forRandom(t, func(t *testing.T, x *Index, _ naive) {
		t.Helper()
		r := rand.New(rand.NewPCG(2, uint64(x.End())))
		for range 200 {
			checkArrivals(t, x, r.IntN(x.End()+2)-1, r.IntN(x.End()+2)-1)
		}
	})
}

func TestArrivalsOfNonsenseAreRight(t *testing.T) {
	for seed := range seeds(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		tr := nonsense(r)
		x := NewIndex(tr, &tr.Devices[0])
		for range 20 {
			checkArrivals(t, x, r.IntN(x.End()+2)-1, r.IntN(x.End()+2)-1)
		}
	}
}

func TestArrivalsAreNotToldWhereNotesChange(t *testing.T) {
	x := indexOf(t, tracetest.Frames+"\ndevice 0\nalloc 0x1000 512 stack=act\nretag 0x1000 512\n")
	if _, ok := x.Arrivals(0, 1); ok {
		t.Error("arrivals were told over an event that retags what stays")
	}
}
