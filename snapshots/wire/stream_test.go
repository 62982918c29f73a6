package wire_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// drain advances a stream until it has no more.
func drain(t testing.TB, s *wire.Stream) error {
	t.Helper()
	for {
		if _, err := s.Advance(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// asText returns a trace's text without its first lines, which are about where
// it is from.
func asText(t testing.TB, tr *trace.Trace) string {
	t.Helper()
	_, text, _ := strings.Cut(tracetest.Text(t, tr), "\ndevice ")
	return text
}

func TestAStreamBecomesATrace(t *testing.T) {
	s := wire.NewStream(bytes.NewReader(written(t, session)), wire.StreamOptions{})
	fatal.If(t, drain(t, s))
	got := s.Trace()
	wantLive := &trace.Live{
		PID: 41, Command: "memtrain --model gpt", User: "root", Started: 1_700_000_000_000_000, RehearsedOn: "NVIDIA L4", Note: "the program ended",
		Options: []trace.Option{{Key: "amp", Value: "off", About: "mixed precision", Choices: []string{"off", "bf16"}}},
		Changes: []trace.Change{{ID: 1, Key: "amp", From: "off", To: "bf16", State: trace.Applied, Step: 3, Predicted: &trace.Prediction{PeakAllocated: -5}}},
		Gauges:  []trace.Gauge{{Device: 0, Total: 100, Used: 10, Process: 5, Others: -1}},
		Gaps:    []trace.Gap{{From: 6, To: 8, Missed: 44, Reason: "too slow"}},
		Dropped: 44, DroppedSteps: 1, ProbeNS: 20,
	}
	equal.Values(t, "live", wantLive, got.Live)
	want := trace.Info{Kind: "live", PickleProtocol: -1, Writer: "memtop's engine", Growing: true, Control: true, TraceLists: 1}
	equal.Values(t, "info", want, got.Info)
	if len(got.Steps) != 2 || !math.IsNaN(got.Steps[0].Loss) || got.Steps[1].Number != 2 || len(got.Settings) != 2 {
		t.Errorf("steps %+v, settings %v", got.Steps, got.Settings)
	}
	if d := got.Device(0); d == nil || d.First != 100 || d.Events.Len() != 14 {
		t.Errorf("device 0: %+v", d)
	}
	if problems := tracetest.Check(got); problems.Count > 0 || len(got.Notices) > 0 {
		t.Errorf("problems %v, notices %v", problems, got.Notices)
	}
}

func TestALostConnectionIsAGap(t *testing.T) {
	whole := written(t, session)
	s := wire.NewStream(bytes.NewReader(whole[:len(whole)*2/3]), wire.StreamOptions{})
	if err := drain(t, s); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("the connection broke, and the error is %v", err)
	}
	before := s.Trace()
	s.Disconnect("the connection was lost")
	if live := s.Trace().Live; live.Connected || live.Note != "the connection was lost" {
		t.Errorf("live is %+v", live)
	}
	in := tables()
	view := in.View()
	again := written(t, func(e *wire.Encoder) {
		e.Hello(greeting())
		e.Tables(&view)
		state := trace.State{}
		e.Base(0, 1000, &state, -1, "")
		e.Step(&trace.Step{Number: 1})
		e.Step(&trace.Step{Number: 9})
		e.Counters(wire.Counters{})
	})
	s.Resume(bytes.NewReader(again))
	fatal.If(t, drain(t, s))
	after := s.Trace()
	d := after.Device(0)
	if d.First != 100 || d.Events.Len() <= before.Device(0).Events.Len() || len(d.Final.Segments) != 0 {
		t.Errorf("the device went from %d to %d events, first %d, %d segments",
			before.Device(0).Events.Len(), d.Events.Len(), d.First, len(d.Final.Segments))
	}
	gap := after.Live.Gaps[len(after.Live.Gaps)-1]
	if gap.Missed < 800 || gap.Reason != "the connection was lost" || gap.To != d.Events.Len() {
		t.Errorf("the gap is %+v", gap)
	}
	if !after.Live.Connected || after.Steps[len(after.Steps)-1].Number != 9 || len(after.Tables.Strings) != len(before.Tables.Strings) {
		t.Errorf("after: %+v, %d steps, %d strings", after.Live, len(after.Steps), len(after.Tables.Strings))
	}
	if problems := tracetest.Check(after); problems.Count > 0 {
		t.Errorf("problems: %v", problems)
	}
}

func TestStreamsRefuseWhatContradictsThem(t *testing.T) {
	empty := trace.State{}
	tests := map[string]struct {
		write func(*wire.Encoder)
		want  string
	}{
		"events before a base": {
			func(e *wire.Encoder) { e.Events(0, 0, make([]trace.Event, 1)) }, "device 0 had no base",
		},
		"events of another device": {
			func(e *wire.Encoder) {
				e.Base(0, 0, &empty, 0, "")
				e.Events(1, 0, make([]trace.Event, 1))
			}, "device 1 had no base",
		},
		"a hole in the events": {
			func(e *wire.Encoder) {
				e.Base(0, 5, &empty, 0, "")
				e.Events(0, 6, make([]trace.Event, 1))
			}, "its first event is number 6, and number 5 should follow",
		},
		"a million devices": {
			func(e *wire.Encoder) {
				for i := range 1000 {
					e.Base(i, 0, &empty, 0, "")
				}
			}, "there is no room for device 256",
		},
		"a device below 0":      {func(e *wire.Encoder) { e.Base(-1, 0, &empty, 0, "") }, "there is no device -1"},
		"a device out of range": {func(e *wire.Encoder) { e.Base(1<<40, 0, &empty, 0, "") }, "there is no device 1099511627776"},
		"another program's hello": {
			func(e *wire.Encoder) { e.Hello(&wire.Hello{PID: 42}) }, "it comes from process 42, and what came before from process 41",
		},
		"a note that is not in the tables": {
			func(e *wire.Encoder) {
				e.Base(0, 0, &empty, 0, "")
				e.Events(0, 0, []trace.Event{{Note: 1}})
			}, "it refers to a missing entry",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stream := written(t, func(e *wire.Encoder) {
				e.Hello(greeting())
				test.write(e)
			})
			err := drain(t, wire.NewStream(bytes.NewReader(stream), wire.StreamOptions{}))
			var corrupt *wire.CorruptError
			if !errors.As(err, &corrupt) || !strings.Contains(corrupt.Reason, test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestALiveStreamSaysThatAStepIsBeingMeasured has a program that measures only while
// it is watched.
func TestALiveStreamSaysThatAStepIsBeingMeasured(t *testing.T) {
	for _, looking := range []bool{true, false} {
		s := wire.NewStream(bytes.NewReader(written(t, func(e *wire.Encoder) {
			e.Hello(greeting())
			e.Counters(wire.Counters{Looking: true})
			e.Counters(wire.Counters{Looking: looking})
		})), wire.StreamOptions{})
		fatal.If(t, drain(t, s))
		if live := s.Trace().Live; live.Looking != looking || (live.Note != "") != looking {
			t.Errorf("looking %v: got %v and the note %q", looking, live.Looking, live.Note)
		}
	}
}

// TestACopyCountsStepsThatWereMeasured copies a step of which only counters are known, too.
func TestACopyCountsStepsThatWereMeasured(t *testing.T) {
	stream := written(t, func(e *wire.Encoder) {
		e.Checksum(wire.NoChecksum)
		e.Hello(greeting())
		e.Step(&trace.Step{Number: 1, Allocated: 512})
		e.Step(&trace.Step{Number: 2, Allocated: 512})
	})
	// Step 2 of a program that did not measure it has no such key.
	counted := bytes.Replace(stream, []byte(`"categories":`), []byte(`"somebodys_":`), 1)
	for _, test := range []struct {
		stream []byte
		want   int64
	}{{stream, 2}, {counted, 1}} {
		c := wire.NewCopier(io.Discard, bytes.NewReader(test.stream), wire.Limits{})
		n := int64(0)
		for {
			if _, err := c.Next(); err != nil {
				break
			}
			n += c.Steps()
		}
		if n != test.want {
			t.Errorf("it counts %d steps, want %d", n, test.want)
		}
	}
}
