package export_test

import (
	"encoding/json"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/export"
	"github.com/memtop/memtop/snapshots/trace"
)

// traceEvent is an event as a viewer reads it.
type traceEvent struct {
	Phase string         `json:"ph"`
	Name  string         `json:"name"`
	Pid   *int           `json:"pid"`
	Tid   int            `json:"tid"`
	Ts    *int64         `json:"ts"`
	Dur   int64          `json:"dur"`
	Args  map[string]any `json:"args"`
}

func traceEvents(t *testing.T, out []byte) []traceEvent {
	t.Helper()
	var file struct{ TraceEvents []traceEvent }
	fatal.If(t, json.Unmarshal(out, &file))
	for _, e := range file.TraceEvents {
		if e.Phase == "" || e.Name == "" || e.Pid == nil || e.Ts == nil || e.Dur < 0 {
			t.Fatalf("an event is not whole: %+v", e)
		}
		noControls(t, e.Name)
	}
	return file.TraceEvents
}

func TestPerfettoKeepsThePeakAndTheEnd(t *testing.T) {
	forAll(t, "perfetto", func(t *testing.T, tr *trace.Trace, out []byte) {
		t.Helper()
		events := traceEvents(t, out)
		for i := range tr.Devices {
			x := analysis.NewIndex(tr, &tr.Devices[i])
			s := x.Summary()
			for name, want := range map[string][2]int64{
				"requested": {s.PeakRequested, s.FinalRequested}, "reserved": {s.PeakReserved, s.FinalReserved},
			} {
				high, last, some := extremes(events, x.Device().ID, name)
				if !some || [2]int64{high, last} != want {
					t.Errorf("device %d: %s peaks at %d and ends at %d (%v), want %v", x.Device().ID, name, high, last, some, want)
				}
			}
		}
		checkNesting(t, events)
	})
}

// extremes returns the highest and the last value of a counter.
func extremes(events []traceEvent, device int, name string) (high, last int64, some bool) {
	for _, e := range events {
		if e.Phase == "C" && *e.Pid == device && e.Name == name {
			last = int64(e.Args["bytes"].(float64))
			high, some = max(high, last), true
		}
	}
	return high, last, some
}

// checkNesting fails if two slices of a thread overlap without one being within
// the other.
func checkNesting(t *testing.T, events []traceEvent) {
	t.Helper()
	for i, a := range events {
		for _, b := range events[:i] {
			if a.Phase != "X" || b.Phase != "X" || *a.Pid != *b.Pid || a.Tid != b.Tid {
				continue
			}
			apart := *a.Ts >= *b.Ts+b.Dur || *b.Ts >= *a.Ts+a.Dur
			within := *a.Ts >= *b.Ts && *a.Ts+a.Dur <= *b.Ts+b.Dur
			if !apart && !within {
				t.Errorf("%q at %d for %d and %q at %d for %d overlap on thread %d", a.Name, *a.Ts, a.Dur, b.Name, *b.Ts, b.Dur, a.Tid)
			}
		}
	}
}

func TestSlicesThatOverlapGoToDifferentThreads(t *testing.T) {
	tr := tracetest.Parse(t, `annotation "before" "END" @1010
annotation "a" "START" @1005
annotation "b" "START" @1020
annotation "a" "END" @1030
annotation "inner" "START" @1032
annotation "inner" "END" @1035
annotation "b" "END" @1040
annotation "after" "START" @1038
device 0
alloc 0x1000 4096 @1000
alloc 0x2000 4096 @1099
`)
	events := traceEvents(t, written(t, tr, "perfetto", export.Options{}))
	checkNesting(t, events)
	threads := make(map[string]int)
	for _, e := range events {
		if e.Phase == "X" {
			threads[e.Name] = e.Tid
		}
	}
	if len(threads) != 5 || threads["a"] == threads["b"] || threads["before"] == threads["a"] {
		t.Errorf("threads: %v", threads)
	}
}

// large is a trace of n events and many annotations, with a spike that thinning
// out must not lose.
func large(n int) *trace.Trace {
	in := trace.NewInterner()
	frame := in.Frame(trace.Frame{File: in.String("train.py"), Line: 1, Name: in.String("step")})
	stack := in.Stack([]trace.FrameID{frame})
	var log trace.EventLog
	tr := &trace.Trace{}
	for i := range n / 2 {
		size := int64(1<<20 + i%997*512)
		if i == n/3 {
			size = 1 << 40
		}
		addr := uint64(i%1000+1) << 32
		log.Append(trace.Event{Kind: trace.Alloc, Addr: addr, Size: size, Stack: stack, Time: int64(1_700_000_000_000_000 + 2*i)})
		if i%1000 > 10 {
			log.Append(trace.Event{Kind: trace.FreeCompleted, Addr: addr, Size: size, Stack: stack, Time: int64(1_700_000_000_000_001 + 2*i)})
		} else {
			log.Append(trace.Event{Kind: trace.SegmentAlloc, Addr: addr, Size: 2 << 20, Stack: stack, Time: int64(1_700_000_000_000_001 + 2*i)})
		}
		if i%10 == 0 {
			for s, stage := range []string{"START", "END"} {
				tr.Annotations = append(tr.Annotations, trace.Annotation{
					Name: in.String("a range with a name of usual length"), Stage: in.String(stage), Time: int64(1_700_000_000_000_000 + 2*i + 9*s),
				})
			}
		}
	}
	tables := in.View()
	tr.Tables, tr.Devices = &tables, []trace.Device{{Events: log.Events()}}
	return tr
}

// counted counts what is written.
type counted struct{ n int64 }

func (c *counted) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// TestLargeTracesStayLoadable bounds the file that a viewer has to hold.
func TestLargeTracesStayLoadable(t *testing.T) {
	const most = 20 << 20
	tr := large(500_000)
	out := written(t, tr, "perfetto", export.Options{})
	if len(out) > most {
		t.Errorf("%d bytes, want at most %d", len(out), most)
	}
	events := traceEvents(t, out)
	x := analysis.NewIndex(tr, &tr.Devices[0])
	if high, _, _ := extremes(events, 0, "requested"); high != x.Summary().PeakRequested || high < 1<<40 {
		t.Errorf("the highest point is %d, want the peak, %d", high, x.Summary().PeakRequested)
	}
}
