package wire_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// tables returns tables with a few entries of every kind.
func tables() *trace.Interner {
	in := trace.NewInterner()
	for _, s := range []string{"main.go", "main.step", "activation", "blocks.0.attn", "[4, 64]", "bf16", "\x1b[31m\x00\xff"} {
		in.String(s)
	}
	in.List([]trace.StringID{2, 3})
	in.Pool(trace.Pool{})
	in.Pool(trace.Pool{0, 3})
	in.Stream(0x7f00)
	in.String("small")
	in.String("large")
	f := in.Frame(trace.Frame{File: 2, Name: 3, Line: 17})
	g := in.Frame(trace.Frame{File: 2, Name: 4, Line: -1})
	in.Stack([]trace.FrameID{f, g})
	in.Stack([]trace.FrameID{g})
	in.Note(trace.Note{CompileContext: 3, UserMetadata: trace.EmptyString})
	in.Note(trace.Note{Category: 4, Layer: 5, Shape: 6, DType: 7, Pool: 2, Forward: 1})
	return in
}

// randomEvent returns an event whose numbers are in the tables, and otherwise
// anything.
func randomEvent(rnd *rand.Rand) trace.Event {
	return trace.Event{
		Slack: uint32(edge(rnd) >> 32 * uint64(rnd.IntN(2))), Addr: edge(rnd), Size: int64(edge(rnd)), Time: int64(edge(rnd)), Stack: trace.StackID(rnd.IntN(4)),
		Note: trace.NoteID(rnd.IntN(3)), Stream: trace.StreamID(rnd.IntN(2)),
		Kind: trace.Kind(rnd.IntN(trace.KindCount)), Absent: trace.Absent(rnd.IntN(16)),
	}
}

// edge returns numbers of all lengths, and the extremes.
func edge(rnd *rand.Rand) uint64 {
	switch rnd.IntN(6) {
	case 0:
		return 0
	case 1:
		return math.MaxUint64 - uint64(rnd.IntN(2))
	case 2:
		return 1<<63 - uint64(rnd.IntN(2))
	case 3:
		return 0x7f00_0000_0000 + 512*uint64(rnd.IntN(1<<20))
	default:
		return rnd.Uint64() >> rnd.IntN(64)
	}
}

func randomBlock(rnd *rand.Rand) trace.Block {
	b := trace.Block{
		Addr: edge(rnd), Size: int64(edge(rnd)), Requested: int64(edge(rnd)), Stack: trace.StackID(rnd.IntN(4)),
		Note: trace.NoteID(rnd.IntN(3)), State: trace.BlockState(rnd.IntN(4)), Given: trace.Given(rnd.IntN(1 << 12)),
	}
	if rnd.IntN(4) == 0 {
		b.StateText = trace.StringID(rnd.IntN(5))
		b.History = []trace.Tenant{{Addr: edge(rnd), Requested: int64(edge(rnd)), Stack: 2}, {}}
	}
	return b
}

func randomState(rnd *rand.Rand) trace.State {
	s := trace.State{Segments: []trace.Segment{}}
	for range rnd.IntN(5) {
		g := trace.Segment{
			Addr: edge(rnd), Size: int64(edge(rnd)), Allocated: int64(edge(rnd)), Active: int64(edge(rnd)),
			Requested:    int64(edge(rnd)),
			Given:        trace.Given(rnd.IntN(1 << 12)),
			SegmentFacts: trace.SegmentFacts{Stack: 1, Stream: 1, Pool: 2, Type: 9, Device: int32(rnd.Uint32()), Expandable: rnd.IntN(2) == 0}, Blocks: []trace.Block{},
		}
		for range rnd.IntN(10) {
			g.Blocks = append(g.Blocks, randomBlock(rnd))
		}
		s.Segments = append(s.Segments, g)
	}
	return s
}

// written returns what an encoder writes.
func written(t testing.TB, write func(*wire.Encoder)) []byte {
	t.Helper()
	var b bytes.Buffer
	e := wire.NewEncoder(&b)
	write(e)
	fatal.If(t, e.Flush())
	return b.Bytes()
}

// frames decodes a whole stream.
func frames(t testing.TB, stream []byte) []wire.Frame {
	t.Helper()
	d := wire.NewDecoder(bytes.NewReader(stream), wire.Limits{})
	var all []wire.Frame
	for {
		f, err := d.Next()
		if errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		f.Events = append([]trace.Event(nil), f.Events...)
		f.Steps = append([]trace.Step(nil), f.Steps...)
		all = append(all, f)
	}
}

const (
	mib       = 1 << 20
	firstAddr = 0x7f00_0000_0000
)

// greeting is the hello of the session's program.
func greeting() *wire.Hello {
	return &wire.Hello{
		PID: 41, Command: "memtrain --model gpt", User: "root", Host: "box", Writer: "memtop's engine", Started: 1_700_000_000_000_000,
		RehearsedOn: "NVIDIA L4", Devices: []int{0}, Capabilities: []string{"control", "stacks"}, Interval: 100e6,
		Settings: wire.Settings{{Key: "max_split_size", Value: int64(-1)}, {Key: "expandable_segments", Value: false}},
	}
}

// session writes a small run with everything in it: a base with one segment,
// some steps that allocate and free, a lost stretch, a change and a goodbye.
func session(e *wire.Encoder) {
	in := tables()
	view := in.View()
	e.Hello(greeting())
	e.Tables(&view)
	base := trace.State{Segments: []trace.Segment{{
		Addr: firstAddr, Size: 2 * mib, Given: 0xfff &^ trace.GaveHistory,
		SegmentFacts: trace.SegmentFacts{Type: 9, Pool: 1, Stack: 1},
		Blocks:       []trace.Block{{Addr: firstAddr, Size: 2 * mib, Stack: 1, Given: trace.GaveAddr | trace.GaveSize | trace.GaveRequested | trace.GaveState}},
	}}}
	e.Base(0, 100, &base, 0, "")
	e.Options([]trace.Option{{Key: "amp", Value: "off", About: "mixed precision", Choices: []string{"off", "bf16"}}})
	e.Events(0, 100, stepEvents(1))
	e.Step(&trace.Step{Number: 1, Loss: math.NaN(), Settings: []trace.Value{{Key: "amp", Value: "off"}}, Layers: []trace.Layer{{Name: "blocks.0"}}})
	e.Change(&trace.Change{ID: 1, Key: "amp", From: "off", To: "bf16"})
	e.Counters(wire.Counters{Dropped: 0, ProbeNS: 10})
	e.Base(0, 150, &base, 44, "too slow")
	e.Events(0, 150, stepEvents(2))
	e.Step(&trace.Step{Number: 2, Loss: 2.5, Settings: []trace.Value{{Key: "amp", Value: "off"}}})
	e.Change(&trace.Change{ID: 1, Key: "amp", From: "off", To: "bf16", State: trace.Applied, Step: 3, Predicted: &trace.Prediction{PeakAllocated: -5}})
	e.Gauges([]trace.Gauge{{Device: 0, Total: 100, Used: 10, Process: 5, Others: -1}})
	e.Counters(wire.Counters{Dropped: 44, DroppedSteps: 1, ProbeNS: 20})
	e.Bye("the program ended")
}

// stepEvents are the six events of a step that allocates two blocks and frees
// one.
func stepEvents(n int64) []trace.Event {
	at := 1_700_000_000_000_000 + 1000*n
	return []trace.Event{
		{Kind: trace.StepBegin, Size: n, Time: at},
		{Kind: trace.Alloc, Addr: firstAddr, Size: 1000, Time: at + 1, Stack: 2, Note: 2},
		{Kind: trace.Alloc, Addr: firstAddr + 1024, Size: 512, Time: at + 1, Stack: 2, Note: 1},
		{Kind: trace.FreeRequested, Addr: firstAddr, Size: 1000, Time: at + 9, Stack: 2, Note: 2},
		{Kind: trace.FreeCompleted, Addr: firstAddr, Size: 1000, Time: at + 9, Stack: 2, Note: 2},
		{Kind: trace.StepEnd, Size: n, Time: at + 10},
	}
}
