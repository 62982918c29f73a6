package wire_test

import (
	"bytes"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// program returns a long random program's trace, its base and its events in one
// piece.
func program(b *testing.B) (*trace.Trace, trace.State, []trace.Event) {
	b.Helper()
	tr := pytorchtest.Random(pytorchtest.Options{Seed: 3, Operations: 200_000})
	d := &tr.Devices[0]
	base, _ := trace.Rewind(tr, d)
	var events []trace.Event
	for i := range d.Events.Len() {
		events = append(events, *d.Events.At(i))
	}
	return tr, base, events
}

func perEvent(b *testing.B, events int, bytes int) {
	b.Helper()
	n := float64(events)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
	if bytes > 0 {
		b.ReportMetric(float64(bytes)/n, "B/event")
	}
}

// recorded returns the whole program as a recording, and how many bytes of it
// are its events.
func recorded(b *testing.B) (stream []byte, eventBytes, events int) {
	b.Helper()
	tr, base, run := program(b)
	before := len(written(b, func(e *wire.Encoder) {
		e.Hello(greeting())
		e.Tables(tr.Tables)
		e.Base(0, 0, &base, 0, "")
	}))
	stream = written(b, func(e *wire.Encoder) {
		e.Hello(greeting())
		e.Tables(tr.Tables)
		e.Base(0, 0, &base, 0, "")
		e.Events(0, 0, run)
	})
	return stream, len(stream) - before, len(run)
}

// BenchmarkRead is a viewer's whole work: decoding, playing forward, keeping.
func BenchmarkRead(b *testing.B) {
	stream, size, events := recorded(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Read(b.Context(), bytes.NewReader(stream), wire.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	perEvent(b, events, size)
}
