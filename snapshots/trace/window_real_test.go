package trace_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/trace"
)

// forShared runs a test for each device with a history of the real files.
func forShared(t *testing.T, test func(t *testing.T, tr *trace.Trace, d *trace.Device)) {
	t.Helper()
	onfile.Shared(t, func(t *testing.T, name string, tr *trace.Trace) {
		t.Helper()
		for i := range tr.Devices {
			if d := &tr.Devices[i]; d.Events.Len() > 1 && name != "trimmed_by_hand.torch2.10.pickle" {
				test(t, tr, d)
			}
		}
	})
}

// merge returns what a follower makes of windows.
func merge(windows []*trace.Trace) (*trace.Trace, trace.Problems) {
	f := trace.NewFollower(trace.NewInterner(), 0)
	f.Describe(trace.Info{Kind: "live"}, windows[0].Settings)
	for _, w := range windows {
		f.Window(w, &w.Devices[0], nil, nil)
	}
	return f.Publish(nil, &trace.Live{}), f.Problems()
}

// said returns what an event says, in words that do not depend on tables.
func said(tr *trace.Trace, e *trace.Event) []any {
	var frames []string
	for _, id := range tr.Tables.Stack(e.Stack) {
		frames = append(frames, tr.Tables.FrameText(id))
	}
	n := tr.Tables.Notes[e.Note]
	return []any{
		e.Kind.String(), e.Addr, e.Size, e.Time, e.Absent, tr.Tables.Stream(e.Stream), frames,
		tr.Tables.String(n.CompileContext), tr.Tables.String(n.UserMetadata), tr.Tables.Pools[n.Pool],
	}
}

// endsOf cuts n events into windows of a ring of so many, which overlap.
func endsOf(rnd *rand.Rand, n, size int) []int {
	var ends []int
	for at := min(size, n); ; at = min(n, at+1+rnd.IntN(size*3/4)) {
		if ends = append(ends, at); at == n {
			return ends
		}
	}
}

// TestWindowsAreJoinedByWhatEventsSay joins windows whose times are worked out anew
// for each, and some without times.
func TestWindowsAreJoinedByWhatEventsSay(t *testing.T) {
	forShared(t, func(t *testing.T, tr *trace.Trace, d *trace.Device) {
		t.Helper()
		for name, change := range map[string]func(window int, e *trace.Event){
			"times are off": func(window int, e *trace.Event) { e.Time += int64(window*37%80 - 40) },
			"no times":      func(_ int, e *trace.Event) { e.Time, e.Absent = 0, e.Absent|trace.NoTime },
		} {
			size := d.Events.Len()/10 + 100
			ends := endsOf(rand.New(rand.NewPCG(2, 0)), d.Events.Len(), size)
			got, problems := merge((&pytorchtest.Ring{Trace: tr, Device: d, Size: size, Change: change}).Windows(ends))
			g := got.Device(d.ID)
			if problems.Count > 0 || len(got.Live.Gaps) > 0 || g.Events.Len() != d.Events.Len() {
				t.Errorf("%s: %d events, want %d; problems %v, gaps %v", name, g.Events.Len(), d.Events.Len(), problems.First, got.Live.Gaps)
			}
			for i := 1; i < g.Events.Len(); i++ {
				if g.Events.At(i).Time < g.Events.At(i-1).Time {
					t.Fatalf("%s: time goes back at event %d", name, i)
				}
			}
		}
	})
}

func TestWindowsThatDoNotOverlapLeaveAGap(t *testing.T) {
	forShared(t, func(t *testing.T, tr *trace.Trace, d *trace.Device) {
		t.Helper()
		n := d.Events.Len()
		if n < 1000 {
			t.Skip("it is too short")
		}
		ends := []int{n / 4, n / 4 * 3, n}
		got, problems := merge((&pytorchtest.Ring{Trace: tr, Device: d, Size: n / 4}).Windows(ends))
		g := got.Device(d.ID)
		if len(got.Live.Gaps) == 0 || got.Live.Gaps[0].Missed != -1 || problems.Count > 0 {
			t.Errorf("gaps %v, problems %v", got.Live.Gaps, problems.First)
		}
		if diff := cmp.Diff(layout(&d.Final), layout(&g.Final)); diff != "" {
			t.Errorf("the final state (-recorded +merged):\n%.2000s", diff)
		}
		last := g.Events.At(g.Events.Len() - 1)
		equal.Values(t, "the last event", said(tr, d.Events.At(n-1)), said(got, last))
	})
}
