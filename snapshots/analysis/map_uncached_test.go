package analysis

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// uncached is a run on a device without a caching allocator.
const uncached = `
settings
setting "allocator" "none"
device 0
alloc 0x1001 1000 @1
alloc 0x2003 500 @2
free 0x1001 1000 @3
alloc 0x1001 70 @4
free_requested 0x2003 500 @5
oom 100 16777216 @6
segment 0x1001 70
block 0x1001 70 active_allocated requested=70
segment 0x2003 500
block 0x2003 500 active_pending_free requested=500
segment 0x9000 30
block 0x9000 30 active_allocated requested=30
`

func TestWithoutACachingAllocatorReservedIsWhatWasAskedFor(t *testing.T) {
	tr := tracetest.Parse(t, uncached)
	x := NewIndex(tr, tr.Device(0))
	for at, want := range []int64{30, 1030, 1530, 530, 600, 600, 600} {
		if got := x.ReservedAt(at - 1); got != want || x.RequestedAt(at-1) != want {
			t.Errorf("after event %d, %d are reserved and %d requested, want %d", at-1, got, x.RequestedAt(at-1), want)
		}
		m := x.SegmentsAt(at - 1)
		if m.Reserved != want || m.Requested != want || m.Free != 0 || m.Rounding != 0 || len(m.Segments) != 0 {
			t.Errorf("after event %d the map is %+v, want %d bytes in no segments", at-1, m, want)
		}
	}
	if m := x.SegmentsAt(4); m.Pending != 500 || m.Allocated != 100 {
		t.Errorf("%d are pending and %d allocated, want 500 and 100", m.Pending, m.Allocated)
	}
	if s := x.Summary(); s.PeakReserved != 1530 || s.InitialReserved != 30 || s.FinalReserved != 600 || s.Segments != 0 || s.Blocks != 3 {
		t.Errorf("the summary is %+v", s)
	}
	x.Walk(func(event int, requested, reserved int64) bool {
		if requested != reserved {
			t.Errorf("after event %d, %d are requested and %d reserved", event, requested, reserved)
		}
		return true
	})
	timeline := x.Timeline(0, 6, 6)
	for at, want := range []int64{1030, 1530, 530, 600, 600, 600} {
		if c := timeline.Columns[at]; c.Total != want || c.Reserved != want {
			t.Errorf("column %d has %d of %d reserved, want %d", at, c.Total, c.Reserved, want)
		}
	}
}

func TestTheWaterfallOfAProcessorLeavesTheMachineOut(t *testing.T) {
	tr := tracetest.Parse(t, uncached)
	sum := int64(0)
	for _, row := range NewIndex(tr, tr.Device(0)).Waterfall(5, &trace.Gauge{Used: 1 << 30, Process: 1 << 20, Others: 1 << 29}) {
		if sum += row.Bytes; row.Kind != PurposeRow && row.Bytes != 0 {
			t.Errorf("%d bytes are %s", row.Bytes, row.Name)
		}
	}
	if sum != 600 {
		t.Errorf("the rows add up to %d, want the 600 that are allocated", sum)
	}
}

func TestWithoutACachingAllocatorNothingIsFragmented(t *testing.T) {
	tr := tracetest.Parse(t, uncached)
	x := NewIndex(tr, tr.Device(0))
	f := FailureAt(x, 5)
	if want := "asked for 16.0 MiB; the device had 100 B, while 600 B was held"; f.Verdict != Full || f.Reason != want {
		t.Errorf("the request failed as %v: %s; want %s", f.Verdict, f.Reason, want)
	}
	if f.Need != 16<<20 || f.Short != 16<<20-100 || len(f.Pins) != 0 {
		t.Errorf("the request needed %d, was short of %d and met %d pins", f.Need, f.Short, len(f.Pins))
	}
	for _, found := range x.Findings() {
		switch found.Kind {
		case PrivatePoolFinding, ContradictionFinding:
			t.Errorf("it is found that %s", found.Text())
		}
	}
}

func TestPyTorchsRecorderIsNoRemedyWithoutItsAllocator(t *testing.T) {
	for text, want := range map[string]bool{uncached: false, strings.Replace(uncached, `"none"`, `"native"`, 1): true} {
		got := strings.Contains(said(indexOf(t, text)), "No stacks were recorded")
		if got != want {
			t.Errorf("a remedy by PyTorch's recorder: %v, want %v, for\n%s", got, want, text)
		}
	}
}
