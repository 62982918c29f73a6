package wire_test

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

func TestEventsComeBackAsTheyWere(t *testing.T) {
	view := tables().View()
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		events := make([]trace.Event, rnd.IntN(10000))
		for i := range events {
			events[i] = randomEvent(rnd)
			if i > 0 && rnd.IntN(2) == 0 {
				events[i] = events[i-1]
				events[i].Kind = trace.FreeCompleted
			}
		}
		first := int64(edge(rnd) >> 2)
		stream := written(t, func(e *wire.Encoder) {
			e.Hello(greeting())
			e.Tables(&view)
			e.Events(7, first, events)
		})
		var got []trace.Event
		for _, f := range frames(t, stream) {
			if f.Type != wire.EventsFrame {
				continue
			}
			if f.Device != 7 || f.First != first+int64(len(got)) {
				t.Errorf("events of device %d from %d on, want device 7 from %d on", f.Device, f.First, first+int64(len(got)))
			}
			got = append(got, f.Events...)
		}
		if !slices.Equal(events, got) { // go-cmp takes its time
			t.Fatalf("seed %d (-sent +received):\n%.1000s", seed, cmp.Diff(events, got))
		}
	}
}

func TestStatesComeBackAsTheyWere(t *testing.T) {
	view := tables().View()
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		want, first, missed := randomState(rnd), int64(edge(rnd)), int64(edge(rnd))
		got := frames(t, written(t, func(e *wire.Encoder) {
			e.Hello(greeting())
			e.Tables(&view)
			e.Base(3, first, &want, missed, "too slow")
		}))
		f := got[len(got)-1]
		if f.Device != 3 || f.First != first || f.Missed != missed || f.Reason != "too slow" {
			t.Errorf("a base of device %d, from %d on, %d missed, %q", f.Device, f.First, f.Missed, f.Reason)
		}
		if diff := cmp.Diff(want, f.State); diff != "" {
			t.Fatalf("seed %d (-sent +received):\n%.1000s", seed, diff)
		}
	}
}

func TestTablesAreSentOnceAndGrow(t *testing.T) {
	in := tables()
	var b bytes.Buffer
	e, d := wire.NewEncoder(&b), wire.NewDecoder(&b, wire.Limits{})
	e.Hello(greeting())
	for round := range 12 {
		for i := range 200 * round {
			name := in.String("layer" + string(rune('a'+round)) + string(rune(i)))
			in.Stack([]trace.FrameID{in.Frame(trace.Frame{File: 2, Name: name, Line: int32(i)})})
		}
		view := in.View()
		e.Tables(&view)
		e.Tables(&view)
		fatal.If(t, e.Flush())
		for b.Len() > 0 || d.Buffered() > 0 {
			if _, err := d.Next(); err != nil {
				t.Fatal(err)
			}
		}
		got := d.Tables()
		if diff := cmp.Diff(view.Strings, got.Strings) + cmp.Diff(view.Frames, got.Frames) +
			cmp.Diff(view.Notes, got.Notes) + cmp.Diff(view.Lists, got.Lists) + cmp.Diff(view.Pools, got.Pools) +
			cmp.Diff(view.Streams, got.Streams); diff != "" {
			t.Fatalf("round %d (-sent +received):\n%.1000s", round, diff)
		}
		for i := range view.StackCount() {
			if diff := cmp.Diff(view.Stack(trace.StackID(i)), got.Stack(trace.StackID(i))); diff != "" {
				t.Fatalf("stack %d (-sent +received):\n%s", i, diff)
			}
		}
	}
}

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	hello := greeting()
	hello.Settings = append(hello.Settings,
		trace.Setting{Key: "threshold", Value: 0.5}, trace.Setting{Key: "whole", Value: 3.0}, trace.Setting{Key: "nothing"},
		trace.Setting{Key: "text", Value: "a\x00\"é"}, trace.Setting{Key: "list", Value: []any{int64(1), 1e300, "x", true, nil}},
		trace.Setting{Key: "divisions", Value: []trace.Setting{{Key: "1", Value: int64(math.MinInt64)}, {Key: "1", Value: int64(2)}}})
	step := trace.Step{
		Number: 3, Time: 5, Duration: 7, Tokens: 11, Loss: math.Inf(-1), Skipped: true, Device: 1, Allocated: 1, Reserved: 2,
		PeakAllocated: 3, PeakReserved: 4, Categories: []trace.Amount{{Name: "b", Bytes: 1}, {Name: "a", Bytes: 2}},
		AtPeak: []trace.Amount{{Name: "c", Bytes: 3}}, Host: []trace.Amount{{Name: "d", Bytes: 4}}, Settings: []trace.Value{{Key: "amp", Value: "off"}}, ProbeNS: 9,
		Layers: []trace.Layer{{Name: "blocks.0", Class: "Linear", OutputShape: "[1]", DType: "f32", ParameterBytes: 1, Calls: 2, Checkpointed: true, OnHost: true}},
	}
	change := trace.Change{ID: 4, Time: 9, Key: "amp", From: "off", To: "bf16", State: trace.Refused, Reason: "no", Predicted: &trace.Prediction{PeakAllocated: -4}}
	options := []trace.Option{{Key: "k", Value: "v", About: "a", Choices: []string{"x"}, Free: true}}
	gauges := []trace.Gauge{{Device: 1, Time: 2, Total: 3, Used: 4, Process: 5, Others: 6, Utilisation: 7, Temperature: 8, Power: 9}}
	counters := wire.Counters{Time: 1, Dropped: 2, DroppedSteps: 3, ProbeNS: 4}
	got := frames(t, written(t, func(e *wire.Encoder) {
		e.Hello(hello)
		e.Settings(hello.Settings)
		e.Step(&step)
		e.Options(options)
		e.Change(&change)
		e.Gauges(gauges)
		e.Counters(counters)
		e.Bye("enough")
	}))
	hello.Version, hello.Minor = wire.Version, wire.Minor
	want := []wire.Frame{
		{Type: wire.HelloFrame, Message: wire.Message{Hello: hello}},
		{Type: wire.SettingsFrame, Message: wire.Message{Settings: hello.Settings}},
		{Type: wire.StepFrame, Message: wire.Message{Step: &step}},
		{Type: wire.OptionsFrame, Message: wire.Message{Options: options}},
		{Type: wire.ChangeFrame, Message: wire.Message{Change: &change}},
		{Type: wire.GaugesFrame, Message: wire.Message{Gauges: gauges}},
		{Type: wire.CountersFrame, Message: wire.Message{Counters: counters}},
		{Type: wire.ByeFrame, Reason: "enough"},
	}
	equal.Values(t, "the result", want, got)
}

// TestWhatIsTooMuchForAFrame never sends what a reader would refuse.
func TestWhatIsTooMuchForAFrame(t *testing.T) {
	layers := make([]trace.Layer, 50_000)
	for i := range layers {
		layers[i].Name = "a layer with a long name: " + strings.Repeat("x", 60)
	}
	got := frames(t, written(t, func(e *wire.Encoder) {
		e.Hello(greeting())
		e.Step(&trace.Step{Number: 3, Layers: layers})
	}))
	if s := got[1].Step; s.Number != 3 || len(s.Layers) != 0 {
		t.Errorf("step %d comes with %d layers", s.Number, len(s.Layers))
	}
	e := wire.NewEncoder(io.Discard)
	e.Base(0, 0, &trace.State{}, 0, strings.Repeat("x", 17<<20))
	if err := e.Flush(); err == nil || !strings.Contains(err.Error(), "a frame of base would have") {
		t.Errorf("a base with a reason of 17 MiB: %v", err)
	}
}

func TestAnEncoderKeepsItsFirstError(t *testing.T) {
	e := wire.NewEncoder(&bytes.Buffer{})
	e.Settings([]trace.Setting{{Key: "a", Value: make(chan int)}})
	if err := e.Flush(); err == nil {
		t.Error("a value of no known type is sent")
	}
	e.Bye("")
	if err := e.Flush(); err == nil {
		t.Error("the error is forgotten")
	}
}
