package trace_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/google/go-cmp/cmp"
)

// lives returns every allocation of a device as a line, held ones first.
func lives(d *trace.Device) []string {
	l := trace.NewLifetimes()
	l.Advance(d.Events)
	l.Finish(&d.Final)
	var lines []string
	line := func(a trace.Allocation) {
		end := "never"
		if a.Close != trace.Never {
			end = fmt.Sprint(a.Close)
		}
		request := "never"
		if at := l.FreeRequested(a.ID); at != trace.Never {
			request = fmt.Sprint(at)
		}
		text := fmt.Sprintf("%#x of %d: from %d, requested %s, to %s", a.Addr, a.Size, a.Open, request, end)
		if a.FreeStack {
			text += ", stack of its free"
		}
		lines = append(lines, text)
	}
	for k := range l.Held {
		line(l.Allocation(trace.HeldID(k)))
	}
	for i := range d.Events.Len() {
		if d.Events.At(i).Kind == trace.Alloc {
			line(l.Allocation(trace.AllocationID(i)))
		}
	}
	return lines
}

func TestLifetimes(t *testing.T) {
	for name, test := range map[string]struct {
		trace string
		want  []string
	}{
		"made and freed": {
			"alloc 0x1000 100\nfree_requested 0x1000 100\nfree_completed 0x1000 100",
			[]string{"0x1000 of 100: from 0, requested 2, to 2"},
		},
		"freed in one step": {
			"alloc 0x1000 100\nfree 0x1000 100",
			[]string{"0x1000 of 100: from 0, requested 1, to 1"},
		},
		"pending for a while": {
			"alloc 0x1000 100\nfree_requested 0x1000 100\nalloc 0x2000 5\nfree_completed 0x1000 100",
			[]string{"0x1000 of 100: from 0, requested 1, to 3", "0x2000 of 5: from 2, requested never, to never"},
		},
		"pending at the end": {
			"alloc 0x1000 100\nfree_requested 0x1000 100",
			[]string{"0x1000 of 100: from 0, requested 1, to never"},
		},
		"held from before and freed": {
			"free_requested 0x1000 100\nfree_completed 0x1000 100",
			[]string{"0x1000 of 100: from -1, requested 1, to 1, stack of its free"},
		},
		"held from before and there at the end": {
			"segment 0x1000 1024\nblock 0x1000 512 active_allocated requested=300\nblock 0x1200 512 inactive requested=9",
			[]string{"0x1000 of 300: from -1, requested never, to never"},
		},
		"a final block that an event made is no other one": {
			"alloc 0x1000 300\nsegment 0x1000 512\nblock 0x1000 512 active_allocated requested=300",
			[]string{"0x1000 of 300: from 0, requested never, to never"},
		},
		"a final block of an old layout has its size in its history": {
			"segment 0x1000 512\nblock 0x1000 512 active_allocated history\ntenant 0x1000 77",
			[]string{"0x1000 of 77: from -1, requested never, to never"},
		},
		"an address used again": {
			"alloc 0x1000 1\nfree 0x1000 1\nalloc 0x1000 2",
			[]string{"0x1000 of 1: from 0, requested 1, to 1", "0x1000 of 2: from 2, requested never, to never"},
		},
		"an alloc over a live address ends the older one": {
			"alloc 0x1000 1\nalloc 0x1000 2",
			[]string{"0x1000 of 1: from 0, requested 1, to 1", "0x1000 of 2: from 1, requested never, to never"},
		},
		"other events change nothing": {
			"alloc 0x1000 1\nsegment_alloc 0x1000 1\nsnapshot 0x0 0\noom 5 5\nannotate 0x1000 0\nsegment_free 0x1000 1",
			[]string{"0x1000 of 1: from 0, requested never, to never"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tracetest.Parse(t, "device 0\n"+test.trace)
			equal.Values(t, "lifetimes", test.want, lives(&tr.Devices[0]))
		})
	}
}

func TestAnAllocOverALiveAddressIsCounted(t *testing.T) {
	tr := tracetest.Parse(t, "device 0\nalloc 1 1\nalloc 1 1\nalloc 1 1")
	l := trace.NewLifetimes()
	l.Advance(tr.Devices[0].Events)
	if got := l.Reused(); got != 2 {
		t.Errorf("%d addresses reused, want 2", got)
	}
}

// disorder makes events at random over few addresses: with reuse, frees of
// nothing, requests that never complete.
func disorder(r *rand.Rand, n int) trace.Events {
	var log trace.EventLog
	kinds := []trace.Kind{
		trace.Alloc, trace.Alloc, trace.FreeRequested, trace.FreeCompleted, trace.Free, trace.SegmentAlloc, trace.OOM,
	}
	for range n {
		log.Append(trace.Event{Kind: kinds[r.IntN(len(kinds))], Addr: uint64(r.IntN(3000)) * 512, Size: r.Int64N(1000)})
	}
	return log.Events()
}

// model is what a plain replay says: the allocations alive after each event
// that is asked for.
func model(events trace.Events, asked map[int]bool) map[int][]string {
	open := map[uint64]int{}
	closed := map[int]int{}
	type held struct{ addr, close int }
	var before []held
	for i := range events.Len() {
		e := events.At(i)
		switch {
		case e.Kind == trace.Alloc:
			if old, ok := open[e.Addr]; ok {
				closed[old] = i
			}
			open[e.Addr] = i
		case e.Kind.Closes():
			if old, ok := open[e.Addr]; ok {
				closed[old] = i
				delete(open, e.Addr)
			} else {
				before = append(before, held{int(e.Addr), i})
			}
		}
	}
	alive := map[int][]string{}
	for at := range asked {
		var names []string
		for _, h := range before {
			if h.close > at {
				names = append(names, fmt.Sprintf("held %#x until %d", h.addr, h.close))
			}
		}
		for i := 0; i <= at; i++ {
			end, ended := closed[i]
			if events.At(i).Kind == trace.Alloc && (!ended || end > at) {
				names = append(names, fmt.Sprintf("event %d", i))
			}
		}
		slices.Sort(names)
		alive[at] = names
	}
	return alive
}

// TestAliveAtAnyEvent compares with a plain replay, over enough events for
// several checkpoints, whether they come at once or in pieces.
func TestAliveAtAnyEvent(t *testing.T) {
	fatal.IfShort(t)
	r := rand.New(rand.NewPCG(5, 6))
	events := disorder(r, 80_000)
	asked := map[int]bool{-1: true, 0: true, events.Len() - 1: true}
	for range 12 {
		asked[r.IntN(events.Len())] = true
	}
	want := model(events, asked)
	whole, pieces := trace.NewLifetimes(), trace.NewLifetimes()
	whole.Advance(events)
	for n := 0; n < events.Len(); n += 1 + r.IntN(5000) {
		pieces.Advance(events.Slice(0, n))
	}
	pieces.Advance(events)
	for name, l := range map[string]*trace.Lifetimes{"at once": whole, "in pieces": pieces} {
		for at := range asked {
			var got []string
			oldest, last := true, math.MinInt
			l.Alive(at, func(id trace.AllocationID) bool {
				rank := int(id)
				k, held := id.Held()
				if held {
					rank = k + math.MinInt32
				}
				oldest, last = oldest && rank > last, rank
				if held {
					a := l.Allocation(id)
					got = append(got, fmt.Sprintf("held %#x until %d", a.Addr, a.Close))
				} else {
					got = append(got, fmt.Sprintf("event %d", int(id)))
				}
				return true
			})
			if !oldest {
				t.Fatalf("%s: alive after event %d: not the oldest first", name, at)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want[at], got); diff != "" {
				t.Fatalf("%s: alive after event %d (-want +got):\n%s", name, at, diff)
			}
		}
	}
}

func TestAliveStopsWhenTold(t *testing.T) {
	tr := tracetest.Parse(t, "device 0\nalloc 1 1\nalloc 2 1\nfree 3 1")
	l := trace.NewLifetimes()
	l.Advance(tr.Devices[0].Events)
	seen := 0
	l.Alive(1, func(trace.AllocationID) bool { seen++; return seen < 2 })
	if seen != 2 {
		t.Errorf("%d allocations were given after the second was refused, want 2", seen)
	}
}
