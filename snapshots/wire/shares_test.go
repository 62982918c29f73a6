package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// TestStreamsStayWithinTheirMemory follows a program that sends new things of
// every kind without end.
func TestStreamsStayWithinTheirMemory(t *testing.T) {
	const memory = 8 << 20
	stream := written(t, tellWithoutEnd)
	before := heap()
	s := wire.NewStream(bytes.NewReader(stream), wire.StreamOptions{Memory: memory})
	for batch := 0; ; {
		f, err := s.Advance()
		if errors.Is(err, io.EOF) {
			break
		}
		fatal.If(t, err)
		if f != wire.CountersFrame {
			continue
		}
		if batch++; batch%20 == 0 {
			if taken := heap() - before; taken > memory {
				t.Fatalf("after %d batches it takes %d bytes, more than %d", batch, taken, memory)
			}
		}
	}
	runtime.KeepAlive(stream)
	got := s.Trace()
	d := got.Device(0)
	if len(got.Notices) != 1 || !d.Overflowed || d.First+int64(d.Events.Len()) != batches*batchEvents {
		t.Errorf("notices %q, %d events from %d on", got.Notices, d.Events.Len(), d.First)
	}
	last := d.Events.At(d.Events.Len() - 1)
	if text := got.Tables.FrameText(got.Tables.Stack(last.Stack)[0]); text != ":0 "+trace.NotKept {
		t.Errorf("the last event is at %q", text)
	}
	known := d.Events.At(d.Events.Len() - batchEvents) // the first of each batch
	if text := got.Tables.FrameText(got.Tables.Stack(known.Stack)[0]); text != "known.go:1 known" {
		t.Errorf("an event at a place that was known is at %q", text)
	}
}

const (
	batches     = 120
	batchEvents = 1000
)

// tellWithoutEnd writes many batches, each with events at new places, a step with
// layers, a change and a gauge.
func tellWithoutEnd(e *wire.Encoder) {
	in := trace.NewInterner()
	stack := func(file string, line int32) trace.StackID {
		f := in.Frame(trace.Frame{File: in.String(file), Name: in.String("known"), Line: line})
		return in.Stack(slices.Repeat([]trace.FrameID{f}, 20))
	}
	e.Hello(greeting())
	e.Base(0, 0, &trace.State{}, 0, "")
	for b := range int64(batches) {
		events := make([]trace.Event, batchEvents)
		for i := range events {
			events[i] = trace.Event{Kind: trace.StepBegin, Size: b, Time: b, Stack: stack("known.go", 1)}
			if i > 0 {
				events[i].Stack = stack(fmt.Sprint(b, ".go"), int32(i))
			}
		}
		view := in.View()
		e.Tables(&view)
		e.Events(0, b*batchEvents, events)
		e.Step(&trace.Step{Number: b + 1, Layers: make([]trace.Layer, 200)})
		e.Change(&trace.Change{ID: b + 1, Reason: fmt.Sprintf("%0500d", b)})
		e.Gauges(make([]trace.Gauge, 100))
		e.Counters(wire.Counters{})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
