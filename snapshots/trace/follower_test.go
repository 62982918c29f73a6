package trace_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// internerOf returns an interner with the tables of t. Its numbers are the same,
// because entries come in the order in which they first came.
func internerOf(t testing.TB, tables *trace.Tables) *trace.Interner {
	t.Helper()
	in := trace.NewInterner()
	for _, s := range tables.Strings[2:] {
		in.String(s)
	}
	for _, p := range tables.Pools[1:] {
		in.Pool(p)
	}
	for _, s := range tables.Streams[1:] {
		in.Stream(s)
	}
	for _, f := range tables.Frames[1:] {
		in.Frame(f)
	}
	for i := 2; i < tables.StackCount(); i++ {
		in.Stack(tables.Stack(trace.StackID(i)))
	}
	for _, l := range tables.Lists[1:] {
		in.List(l)
	}
	for _, n := range tables.Notes[1:] {
		in.Note(n)
	}
	return in
}

// followed plays a device of a trace forward from its base.
func followed(t testing.TB, tr *trace.Trace, d *trace.Device) (*trace.Follower, *trace.Trace) {
	t.Helper()
	f := trace.NewFollower(internerOf(t, tr.Tables), 0)
	f.Describe(tr.Info, tr.Settings)
	base, _ := trace.Rewind(tr, d)
	f.Base(d.ID, 0, base, 0, "")
	for i := 0; i < d.Events.Len(); {
		span := d.Events.Span(i)
		f.Append(d.ID, span)
		i += len(span)
	}
	return f, f.Publish(nil, nil)
}

// layout returns what a state has where, a line for each segment and live block.
func layout(s *trace.State) string {
	var b strings.Builder
	for i := range s.Segments {
		g := &s.Segments[i]
		fmt.Fprintf(&b, "segment %#x %d stream=%d expandable=%v\n", g.Addr, g.Size, g.Stream, g.Expandable)
		for _, k := range g.Blocks {
			if k.State.Live() {
				fmt.Fprintf(&b, "  %#x %d %s requested=%d\n", k.Addr, k.Size, k.State, k.LiveRequested())
			}
		}
	}
	return b.String()
}

func TestFollowersArriveAtTheFinalState(t *testing.T) {
	for seed := range uint64(20) {
		tr := pytorchtest.Random(pytorchtest.Options{Seed: seed, Operations: 2000, Expandable: seed%2 == 1})
		for i := range tr.Devices {
			d := &tr.Devices[i]
			f, got := followed(t, tr, d)
			if problems := f.Problems(); problems.Count > 0 {
				t.Errorf("seed %d: %v", seed, problems.First[0])
			}
			if diff := cmp.Diff(layout(&d.Final), layout(&got.Device(d.ID).Final)); diff != "" {
				t.Fatalf("seed %d, device %d (-recorded +followed):\n%.2000s", seed, d.ID, diff)
			}
		}
	}
}

// TestFollowersPlayEvents reads traces whose segments are, unlike elsewhere, the
// state before the events.
func TestFollowersPlayEvents(t *testing.T) {
	for name, test := range map[string]struct {
		trace    string
		final    string
		problems []string
	}{
		"memory from the middle of a free block cuts it in three": {
			trace: `
device 0
alloc 0x1000400 1000
segment 0x1000000 2097152 type="small"
  block 0x1000000 2097152 inactive requested=7`,
			final: `
segment 0x1000000 2097152 allocated=1024 active=1024 requested=1000 type="small"
  block 0x1000000 1024 inactive requested=7
  block 0x1000400 1024 active_allocated requested=1000 stack=-
  block 0x1000800 2095104 inactive requested=7 stack=-
`,
		},
		"a rest that PyTorch's block would keep, and that is handed out, was not kept": {
			trace: `
device 0
segment_alloc 0x1000000 20971520
alloc 0x1000000 19922944
alloc 0x2300200 512`,
			final: `
segment 0x1000000 20971520 device=0 allocated=20971008 active=20971008 requested=19923456 stream=0x0 type="large" pool=0,0 expandable=false stack=-
  block 0x1000000 19922944 active_allocated requested=19922944 stack=-
  block 0x2300000 512 inactive requested=19922944 stack=-
  block 0x2300200 1048064 active_allocated requested=512 stack=-
`,
		},
		"memory that is in use is not handed out": {
			trace: `
device 0
alloc 0x1000200 512
segment 0x1000000 2097152 type="small"
  block 0x1000000 1024 active_allocated requested=1000
  block 0x1000400 2096128 inactive requested=4`,
			final: `
segment 0x1000000 2097152 type="small"
  block 0x1000000 1024 active_allocated requested=1000
  block 0x1000400 2096128 inactive requested=4
`,
			problems: []string{"device 0, event 0: alloc of 512 bytes at 0x1000200: no block begins there"},
		},
		"memory that is mapped joins the segments it touches, with the stack of the first": {
			trace: `
device 0
segment_map 0x1200000 2097152
segment 0x1000000 2097152 type="small" expandable=true stack=-
  block 0x1000000 2097152 inactive requested=9
segment 0x1400000 2097152 type="small" expandable=true
  block 0x1400000 512 active_allocated requested=8
  block 0x1400200 2096640 inactive requested=9`,
			final: `
segment 0x1000000 6291456 allocated=512 active=512 requested=8 type="small" expandable=true stack=-
  block 0x1000000 4194304 inactive requested=0 stack=-
  block 0x1400000 512 active_allocated requested=8
  block 0x1400200 2096640 inactive requested=9
`,
		},
		"what contradicts the state changes nothing": {
			trace: `
device 0
alloc 0x1000000 1
alloc 0x1000200 4000000
alloc 0x1000100 1
free_completed 0x1000000 512
free_requested 0x1000200 512
free 0x1000200 512
retag 0x1000200 512
segment_alloc 0x1100000 2097152
segment_alloc 0xffffffffffe00000 4194304
segment_alloc 0x9000000 -5
segment_free 0x1000000 2097152
segment_free 0x1000000 512
segment_map 0x1000000 2097152
segment_unmap 0x1000000 2097152
segment 0x1000000 2097152 type="small"
  block 0x1000000 512 active_allocated requested=8
  block 0x1000200 2096640 inactive requested=0`,
			final: `
segment 0x1000000 2097152 type="small"
  block 0x1000000 512 active_allocated requested=8
  block 0x1000200 2096640 inactive requested=0
`,
			problems: []string{
				"device 0, event 0: alloc of 1 bytes at 0x1000000: the block there is not free",
				"device 0, event 1: alloc of 4000000 bytes at 0x1000200: the block there is smaller",
				"device 0, event 2: alloc of 1 bytes at 0x1000100: no block begins there",
				"device 0, event 3: free_completed of 512 bytes at 0x1000000: the block there is not being freed",
				"device 0, event 4: free_requested of 512 bytes at 0x1000200: the block there is not allocated",
				"device 0, event 5: free of 512 bytes at 0x1000200: the block there is not being freed",
				"device 0, event 6: retag of 512 bytes at 0x1000200: the block there is not allocated",
				"device 0, event 7: segment_alloc of 2097152 bytes at 0x1100000: some of it is in a segment already",
				"device 0, event 8: segment_alloc of 4194304 bytes at 0xffffffffffe00000: that is no range of addresses",
				"device 0, event 9: segment_alloc of -5 bytes at 0x9000000: that is no range of addresses",
				"device 0, event 10: segment_free of 2097152 bytes at 0x1000000: some of it is in use",
				"device 0, event 11: segment_free of 512 bytes at 0x1000000: there is no such segment",
				"device 0, event 12: segment_map of 2097152 bytes at 0x1000000: some of it is in a segment already",
				"device 0, event 13: segment_unmap of 2097152 bytes at 0x1000000: there is no such segment",
			},
		},
		"a base that makes no sense is taken as far as it does": {
			trace: `
device 0
segment 0x1000000 2097152 type="small"
  block 0x1000200 512 active_allocated requested=8
segment 0x1000200 2097152 type="small"
  block 0x1000200 2097152 inactive
segment 0x2000000 2097152 type="small"
  block 0x2000000 -512 inactive
segment 0x3000000 2097152 type="small"
  block 0x3000000 4194304 inactive`,
			final: `
segment 0x1000000 2097152 allocated=512 active=512 requested=8 type="small"
  block 0x1000000 512 inactive requested=0 stack=-
  block 0x1000200 512 active_allocated requested=8
  block 0x1000400 2096128 inactive requested=0 stack=-
`,
			problems: []string{
				"device 0, event 0: segment 0x1000200 of 2097152 bytes overlaps another or is empty",
				"device 0, event 0: the blocks of segment 0x2000000 do not follow each other",
				"device 0, event 0: the blocks of segment 0x3000000 do not follow each other",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tracetest.Parse(t, strings.TrimPrefix(test.trace, "\n"))
			d := &tr.Devices[0]
			f := trace.NewFollower(internerOf(t, tr.Tables), 0)
			f.Describe(tr.Info, tr.Settings)
			f.Base(0, 0, d.Final, 0, "")
			for i := range d.Events.Len() {
				f.Append(0, d.Events.Span(i)[:1])
			}
			got := f.Publish(nil, nil)
			equal.Values(t, "the final state", strings.TrimPrefix(test.final, "\n"), stateText(t, got, got.Devices[0].Final))
			equal.Values(t, "problems", test.problems, tracetest.Reasons(f.Problems()))
			if (len(got.Notices) > 0) != (len(test.problems) > 0) {
				t.Errorf("notices %q", got.Notices)
			}
		})
	}
}

func TestFollowersForgetTheOldestEvents(t *testing.T) {
	state, events := crowded()
	f := trace.NewFollower(trace.NewInterner(), 1<<16)
	f.Base(0, 1000, state, 0, "")
	state.Segments = nil
	var early *trace.Trace
	total := 0
	for round := range 200 {
		f.Append(0, events)
		total += len(events)
		switch round {
		case 5:
			early = f.Publish(nil, &trace.Live{})
		case 6, 190:
			again, _ := crowded()
			f.Base(0, 0, again, 7, "too slow")
		}
	}
	got := f.Publish(nil, &trace.Live{})
	d := got.Device(0)
	if n := d.Events.Len(); n > 1<<16 || n < 1<<15 || !d.Overflowed {
		t.Errorf("%d events are kept of %d, overflowed %v", n, total, d.Overflowed)
	}
	if d.First+int64(d.Events.Len()) < int64(1000+total) {
		t.Errorf("the first event kept is number %d, there are %d, and %d came", d.First, d.Events.Len(), total)
	}
	gaps := got.Live.Gaps
	if len(gaps) != 1 || gaps[0].From < 0 || gaps[0].To > d.Events.Len() || gaps[0].From > gaps[0].To {
		t.Errorf("the gaps are %+v, the first should be forgotten", gaps)
	}
	if n := early.Device(0).Events.Len(); n != 6*len(events) || early.Device(0).Events.At(n-1).Kind != trace.Alloc {
		t.Errorf("a trace handed out earlier has %d events now, not %d", n, 6*len(events))
	}
	for _, p := range tracetest.Check(got).First {
		if !strings.Contains(p.Reason, "the clock goes back") { // the same second is lived again and again
			t.Error(p)
		}
	}
}

func TestHowManyEventsAFollowerForgetsAtATime(t *testing.T) {
	const limit = 1 << 16
	tests := map[string]struct {
		info trace.Info
		each int64 // microseconds from event to event
		left int
	}{
		"a quarter of a program's":                                {trace.Info{Growing: true}, 100, limit*3/4 + 1},
		"a half of one's that makes a quarter in a second":        {trace.Info{Growing: true}, 10, limit/2 + 1},
		"a quarter of a recording's, from which nothing is drawn": {trace.Info{}, 10, limit*3/4 + 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := trace.NewFollower(trace.NewInterner(), limit)
			f.Describe(test.info, nil)
			f.Base(0, 0, trace.State{}, 0, "")
			events := make([]trace.Event, limit+1)
			for i := range events {
				events[i].Time = int64(i) * test.each
			}
			f.Append(0, events)
			if got := f.Kept(); got != test.left {
				t.Errorf("%d events are left of %d, want %d", got, limit+1, test.left)
			}
		})
	}
}

func TestStepsThatLedToTheFirstWindowAreLeftOut(t *testing.T) {
	marks := []trace.Event{
		{Kind: trace.StepBegin, Size: 1, Time: 10},
		{Kind: trace.StepEnd, Size: 1, Time: 20},
		{Kind: trace.StepBegin, Size: 2, Time: 20},
		{Kind: trace.StepEnd, Size: 2, Time: 30},
		{Kind: trace.StepBegin, Size: 3, Time: 30},
	}
	for name, test := range map[string]struct{ events, want string }{
		"a state alone":               {"", "step_begin 3"},
		"a history that begins later": {"alloc 0x1000000 512 @25\n", "step_begin 2, alloc 512, step_end 2, step_begin 3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := tracetest.Parse(t, "device 0\n"+test.events+"segment 0x1000000 2097152 type=\"small\"\n  block 0x1000000 512 active_allocated requested=512\n  block 0x1000200 2096640 inactive\n")
			f := trace.NewFollower(trace.NewInterner(), 0)
			f.Window(w, &w.Devices[0], marks, nil)
			events := f.Publish(nil, &trace.Live{}).Devices[0].Events
			var got []string
			for i := range events.Len() {
				e := events.At(i)
				got = append(got, fmt.Sprintf("%s %d", e.Kind, e.Size))
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// crowded is a segment with a thousand live blocks of 1 KiB, every second one of which is
// freed and allocated again and again.
func crowded() (trace.State, []trace.Event) {
	const addr, size, blocks = 0x7f00_0000_0000, 1024, 1000
	s := trace.Segment{Addr: addr, Size: (blocks + 1) * size, SegmentFacts: trace.SegmentFacts{Stack: 1}}
	var events []trace.Event
	for i := range blocks {
		at := addr + uint64(i)*size
		s.Blocks = append(s.Blocks, trace.Block{Addr: at, Size: size, Requested: 1000, State: trace.Allocated, Given: trace.GaveRequested})
		if i%2 == 0 {
			e := trace.Event{Addr: at, Size: 1000, Time: int64(i)}
			for _, k := range []trace.Kind{trace.FreeRequested, trace.FreeCompleted, trace.Alloc} {
				e.Kind = k
				events = append(events, e)
			}
		}
	}
	return trace.State{Segments: []trace.Segment{s}}, events
}
