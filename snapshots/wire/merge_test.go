package wire_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// pickled returns a snapshot as PyTorch writes it.
func pickled(t testing.TB, tr *trace.Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	fatal.If(t, pytorch.Write(&b, tr))
	return b.Bytes()
}

// windows returns snapshots of a random run, and the run.
func windows(seed uint64) (*trace.Trace, []*trace.Trace) {
	tr := pytorchtest.Random(pytorchtest.Options{Seed: seed, Operations: 2000})
	d := &tr.Devices[0]
	rnd := rand.New(rand.NewPCG(seed, 1))
	var ends []int
	for at := 300; at < d.Events.Len(); at += 1 + rnd.IntN(250) {
		ends = append(ends, at)
	}
	ends = append(ends, d.Events.Len())
	return tr, (&pytorchtest.Ring{Trace: tr, Device: d, Size: 300}).Windows(ends)
}

func TestAStreamOfSnapshotsIsTheRun(t *testing.T) {
	for seed := range uint64(5) {
		tr, all := windows(seed)
		stream := written(t, func(e *wire.Encoder) {
			h := greeting()
			h.Settings = nil
			e.Hello(h)
			for _, w := range all {
				e.Snapshot(pickled(t, w))
				e.Counters(wire.Counters{})
			}
		})
		got := traceOf(t, stream)
		d, want := got.Device(tr.Devices[0].ID), &tr.Devices[0]
		if d == nil || d.Events.Len() != want.Events.Len() || len(got.Live.Gaps) != 0 {
			t.Fatalf("seed %d: %+v, gaps %v", seed, d, got.Live.Gaps)
		}
		for i := range d.Events.Len() {
			a, b := d.Events.At(i), want.Events.At(i)
			if a.Kind != b.Kind || a.Addr != b.Addr || a.Size != b.Size || a.Time != b.Time ||
				len(got.Tables.Stack(a.Stack)) != len(tr.Tables.Stack(b.Stack)) {
				t.Fatalf("seed %d, event %d is %+v, want %+v", seed, i, a, b)
			}
		}
		if d.Final.Reserved() != want.Final.Reserved() || len(got.Settings) != len(tr.Settings) {
			t.Errorf("seed %d: %d bytes are reserved, want %d; %d settings", seed, d.Final.Reserved(), want.Final.Reserved(), len(got.Settings))
		}
	}
}

// TestRealSnapshotsAreStreams sends each of the real files as it is.
func TestRealSnapshotsAreStreams(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(pytorchtest.SharedFolder(t), "*.pickle"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		pickle := fatal.Read(t, file)
		want, err := pytorch.Decode(t.Context(), bytes.NewReader(pickle), pytorch.Options{})
		fatal.If(t, err)
		got := traceOf(t, written(t, func(e *wire.Encoder) {
			e.Hello(greeting())
			e.Snapshot(pickle)
			e.Counters(wire.Counters{})
			e.Snapshot(pickle) // nothing new
			e.Counters(wire.Counters{})
			e.Bye("")
		}))
		for i := range want.Devices {
			w, g := &want.Devices[i], got.Device(want.Devices[i].ID)
			if strings.Contains(file, "trimmed_by_hand") {
				continue // its segments are not those of its events, so some are made up
			}
			if g == nil || g.Events.Len() != w.Events.Len() || g.Final.Reserved() != w.Final.Reserved() || len(got.Live.Gaps) > 0 {
				t.Errorf("%s, device %d: gaps %v, notices %q", filepath.Base(file), w.ID, got.Live.Gaps, got.Notices)
			}
		}
	}
}

// oneBlock is a snapshot of some events that end with a live block of 1,000 bytes.
func oneBlock(events ...trace.Event) *trace.Trace {
	in := trace.NewInterner()
	var log trace.EventLog
	for i := range events {
		log.Append(events[i])
	}
	const given = trace.GaveAddr | trace.GaveSize | trace.GaveRequested | trace.GaveState
	s := trace.Segment{
		Addr: firstAddr, Size: 2 * mib, Given: 0xfff &^ trace.GaveHistory &^ trace.GaveState,
		SegmentFacts: trace.SegmentFacts{Type: in.String("small"), Pool: in.Pool(trace.Pool{})},
		Blocks: []trace.Block{
			{Addr: firstAddr, Size: 1024, Requested: 1000, State: trace.Allocated, Given: given},
			{Addr: firstAddr + 1024, Size: 2*mib - 1024, Given: given},
		},
	}
	tables := in.View()
	return &trace.Trace{
		Info: trace.Info{TraceLists: 1}, Tables: &tables,
		Devices: []trace.Device{{Events: log.Events(), Final: trace.State{Segments: []trace.Segment{s}}}},
	}
}

func allocAt(time int64) trace.Event {
	return trace.Event{Kind: trace.Alloc, Addr: firstAddr, Size: 1000, Time: time}
}

func freeAt(time int64) trace.Event {
	return trace.Event{Kind: trace.Free, Addr: firstAddr, Size: 1000, Time: time}
}

// kindsOf lists the kinds of a device's events and what they say the memory is for.
func kindsOf(tr *trace.Trace) string {
	var all []string
	d := &tr.Devices[0]
	for i := range d.Events.Len() {
		e := d.Events.At(i)
		word := e.Kind.String()
		if c := tr.Tables.Notes[e.Note].Category; c != 0 {
			word += "=" + tr.Tables.String(c)
		}
		all = append(all, word)
	}
	return strings.Join(all, " ")
}

func TestTagsSayWhatMemoryIsFor(t *testing.T) {
	in := trace.NewInterner()
	parameter := in.Note(trace.Note{Category: in.String("parameter"), Layer: in.String("blocks.0")})
	gradient := in.Note(trace.Note{Category: in.String("gradient")})
	view := in.View()
	tag := func(note trace.NoteID) []trace.Tag {
		return []trace.Tag{{Addr: firstAddr, Note: note}, {Addr: 5, Note: note}}
	}
	first := allocAt(10)
	for name, test := range map[string]struct {
		batches func(e *wire.Encoder)
		events  string
		final   string
	}{
		"with the event that made it": {
			func(e *wire.Encoder) { e.Snapshot(pickled(t, oneBlock(first))); e.Tags(0, tag(parameter)) },
			"alloc=parameter", "parameter",
		},
		"of what was there before": {
			func(e *wire.Encoder) { e.Snapshot(pickled(t, oneBlock())); e.Tags(0, tag(parameter)) },
			"", "parameter",
		},
		"again, when it is for something else": {
			func(e *wire.Encoder) {
				for _, note := range []trace.NoteID{parameter, parameter, gradient} {
					e.Snapshot(pickled(t, oneBlock(first)))
					e.Tags(0, tag(note))
					e.Counters(wire.Counters{})
				}
				e.Tags(0, tag(gradient))
			},
			"alloc=parameter retag=gradient", "gradient",
		},
		"anew when the address is": {
			func(e *wire.Encoder) {
				e.Snapshot(pickled(t, oneBlock(first)))
				e.Tags(0, tag(parameter))
				e.Counters(wire.Counters{})
				e.Snapshot(pickled(t, oneBlock(first, freeAt(11), allocAt(12))))
				e.Tags(0, tag(gradient))
			},
			"alloc=parameter free alloc=gradient", "gradient",
		},
		"of nothing": {
			func(e *wire.Encoder) { e.Tags(0, tag(parameter)); e.Snapshot(pickled(t, oneBlock(first))) },
			"alloc", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := traceOf(t, written(t, func(e *wire.Encoder) {
				e.Hello(greeting())
				e.Tables(&view)
				test.batches(e)
			}))
			if got := kindsOf(tr); got != test.events {
				t.Errorf("the events are %s, want %s", got, test.events)
			}
			note := tr.Tables.Notes[tr.Devices[0].Final.Segments[0].Blocks[0].Note]
			if got := tr.Tables.String(note.Category); got != test.final || tr.Devices[0].Final.Segments[0].Blocks[0].State != trace.Allocated {
				t.Errorf("the block is for %q, want %q", got, test.final)
			}
		})
	}
}

func TestStepsOfSnapshotsComeBetweenTheirEvents(t *testing.T) {
	step := func(n, time int64) *trace.Step { return &trace.Step{Number: n, Time: time, Duration: 5000} }
	tr := traceOf(t, written(t, func(e *wire.Encoder) {
		e.Hello(greeting())
		e.Step(step(3, 4)) // ended before the first event
		e.Step(step(4, 11))
		e.Snapshot(pickled(t, oneBlock(allocAt(10), freeAt(12), allocAt(14))))
		e.Counters(wire.Counters{})
		e.Snapshot(pickled(t, oneBlock(allocAt(10), freeAt(12), allocAt(14), freeAt(20), allocAt(30))))
		e.Step(step(4, 11)) // of another stream
		e.Step(step(5, 25))
		e.Counters(wire.Counters{})
	}))
	d, want := tr.Device(0), []trace.Event{
		{Kind: trace.StepBegin, Size: 4, Time: 4},
		allocAt(10),
		{Kind: trace.StepEnd, Size: 4, Time: 11},
		{Kind: trace.StepBegin, Size: 5, Time: 11},
		freeAt(12), allocAt(14), freeAt(20),
		{Kind: trace.StepEnd, Size: 5, Time: 25},
		{Kind: trace.StepBegin, Size: 6, Time: 25},
		allocAt(30),
	}
	if d.Events.Len() != len(want) {
		t.Fatalf("the events are %s", kindsOf(tr))
	}
	for i := range want {
		if e := d.Events.At(i); e.Kind != want[i].Kind || e.Size != want[i].Size || e.Time != want[i].Time {
			t.Errorf("event %d is %+v, want %+v", i, e, want[i])
		}
	}
}

// TestAPoolThatNoEventSaysIsNoContradiction obtains a segment for a private pool, as
// before PyTorch 2.12, whose events have no pool.
func TestAPoolThatNoEventSaysIsNoContradiction(t *testing.T) {
	segment := trace.Event{Kind: trace.SegmentAlloc, Addr: firstAddr, Size: 2 * mib, Time: 9}
	empty, private := oneBlock(segment), oneBlock(segment, allocAt(10))
	empty.Devices[0].Final.Segments[0].Blocks = []trace.Block{{Addr: firstAddr, Size: 2 * mib, Given: private.Devices[0].Final.Segments[0].Blocks[1].Given}}
	for _, w := range []*trace.Trace{empty, private} {
		w.Tables.Pools = append(w.Tables.Pools, trace.Pool{0, 7})
		w.Devices[0].Final.Segments[0].Pool = 2
	}
	none := &trace.Trace{Info: trace.Info{TraceLists: 1}, Tables: empty.Tables, Devices: []trace.Device{{}}}
	tr := traceOf(t, written(t, func(e *wire.Encoder) {
		e.Hello(greeting())
		for _, w := range []*trace.Trace{none, empty, private} {
			e.Snapshot(pickled(t, w))
			e.Counters(wire.Counters{})
		}
	}))
	final := &tr.Devices[0].Final.Segments[0]
	if got := kindsOf(tr); got != "segment_alloc alloc" || len(tr.Live.Gaps) > 0 || tr.Tables.Pools[final.Pool] != (trace.Pool{0, 7}) {
		t.Errorf("the events are %s with gaps %v, in pool %v", got, tr.Live.Gaps, tr.Tables.Pools[final.Pool])
	}
}

// TestWhatBlocksSayBeyondTheirEventsIsNoContradiction has stacks of what is alive only,
// as with context="state", and a block that is larger than the rules say.
func TestWhatBlocksSayBeyondTheirEventsIsNoContradiction(t *testing.T) {
	now := oneBlock(allocAt(10))
	more := trace.NewInterner()
	stack := more.Stack([]trace.FrameID{more.Frame(trace.Frame{File: more.String("train.py"), Name: more.String("step"), Line: 7})})
	small := more.String("small")
	tables := more.View()
	now.Tables = &tables
	s := &now.Devices[0].Final.Segments[0]
	s.Type, s.Pool = small, 0
	s.Blocks[0].Stack, s.Blocks[0].Size = stack, 4096
	s.Blocks[1].Addr, s.Blocks[1].Size = firstAddr+4096, 2*mib-4096
	tr := traceOf(t, written(t, func(e *wire.Encoder) {
		e.Hello(greeting())
		e.Snapshot(pickled(t, now))
	}))
	block := &tr.Devices[0].Final.Segments[0].Blocks[0]
	if got := kindsOf(tr); got != "alloc" || len(tr.Live.Gaps) > 0 || block.Size != 4096 || len(tr.Tables.Stack(block.Stack)) != 1 {
		t.Errorf("the events are %s with gaps %v, the block %+v", got, tr.Live.Gaps, block)
	}
}

func TestEventsThatDoNotLeadToTheSegmentsAreBridged(t *testing.T) {
	tr := traceOf(t, written(t, func(e *wire.Encoder) {
		e.Hello(greeting())
		e.Snapshot(pickled(t, oneBlock(allocAt(10))))
		e.Counters(wire.Counters{})
		e.Snapshot(pickled(t, oneBlock(allocAt(10), freeAt(12)))) // the alloc after it was skipped
		e.Counters(wire.Counters{})
	}))
	if got := kindsOf(tr); got != "alloc free alloc" || len(tr.Live.Gaps) != 1 || tr.Live.Gaps[0].Missed != -1 || tr.Live.Gaps[0].From != 2 {
		t.Errorf("the events are %s with gaps %v", got, tr.Live.Gaps)
	}
}

func TestStreamsRefuseSnapshotsThatAreNone(t *testing.T) {
	whole := pickled(t, oneBlock(allocAt(10)))
	big := append([]byte("\x80\x04B\x00\x00\x00\x05"), make([]byte, 80<<20)...)
	for name, test := range map[string]struct {
		write func(e *wire.Encoder)
		want  string
	}{
		"cut off":   {func(e *wire.Encoder) { e.Snapshot(whole[:len(whole)-9]) }, "the pickle is cut off"},
		"empty":     {func(e *wire.Encoder) { e.Snapshot(nil) }, "before anything could be read"},
		"code":      {func(e *wire.Encoder) { e.Snapshot([]byte("\x80\x04cos\nsystem\n(U\x02idtR.")) }, "os.system"},
		"text":      {func(e *wire.Encoder) { e.Snapshot([]byte("hello")) }, "at byte"},
		"too large": {func(e *wire.Encoder) { e.Snapshot(big) }, "a snapshot of 83886087 bytes, more than 67108864"},
		"a base as well": {func(e *wire.Encoder) {
			e.Snapshot(whole)
			e.Base(0, 0, &trace.State{}, 0, "")
		}, "device 0 comes by snapshots"},
		"a base before": {func(e *wire.Encoder) {
			e.Base(0, 0, &trace.State{}, 0, "")
			e.Snapshot(whole)
		}, "device 0 had a base before"},
		"a tag of a note that is not in the tables": {func(e *wire.Encoder) {
			e.Tags(0, []trace.Tag{{Addr: 1, Note: 9}})
		}, "refers to a missing entry"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			e := wire.NewEncoder(&b)
			e.Hello(greeting())
			test.write(e)
			err := e.Flush()
			if err == nil {
				err = drain(t, wire.NewStream(&b, wire.StreamOptions{}))
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if corrupt := (*wire.CorruptError)(nil); errors.As(err, &corrupt) && corrupt.Rule == "" {
				t.Errorf("%v names no rule", err)
			}
		})
	}
}

// part returns a frame of a snapshot, as framed takes it.
func part(left byte, pickle []byte) []byte {
	return append([]byte{byte(wire.SnapshotFrame), byte(len(pickle) + 1), byte((len(pickle) + 1) >> 8), left}, pickle...)
}

func TestPartsOfASnapshotComeInOrder(t *testing.T) {
	whole := pickled(t, oneBlock(allocAt(10)))
	hello := unframed(written(t, func(e *wire.Encoder) { e.Hello(greeting()) }))
	counters := unframed(written(t, func(e *wire.Encoder) { e.Counters(wire.Counters{}) }))
	for name, test := range map[string]struct {
		frames [][]byte
		want   string
	}{
		"three parts":       {[][]byte{hello, part(2, whole[:9]), part(1, nil), counters, part(0, whole[9:]), counters}, ""},
		"a part is missing": {[][]byte{hello, part(2, whole[:9]), part(0, whole[9:])}, "it says that 0 parts follow, and the one before said 2"},
		"another snapshot":  {[][]byte{hello, part(2, whole[:9]), part(2, whole[:9])}, "it says that 2 parts follow"},
		"parts without end": {[][]byte{hello, {byte(wire.SnapshotFrame), 2, 0, 0x80, 0x08}}, "1024 parts of it follow, and it may have 1024"},
		"no part":           {[][]byte{hello, {byte(wire.SnapshotFrame), 0, 0}}, "it is cut off"},
		"another stream":    {[][]byte{hello, part(1, whole[:9])}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := wire.NewStream(bytes.NewReader(framed(bytes.Join(test.frames, nil))), wire.StreamOptions{})
			err := drain(t, s)
			switch {
			case test.want == "" && err != nil, test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
			if name == "another stream" {
				s.Resume(bytes.NewReader(framed(bytes.Join([][]byte{hello, part(0, whole), counters}, nil))))
				err = drain(t, s)
			}
			if tr := s.Trace(); test.want == "" && (err != nil || len(tr.Devices) != 1 || tr.Devices[0].Events.Len() != 1) {
				t.Errorf("the trace has %d devices (%v)", len(tr.Devices), err)
			}
		})
	}
}
