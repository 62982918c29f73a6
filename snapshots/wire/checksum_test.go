package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// traceOf returns the trace of a recording.
func traceOf(t testing.TB, recording []byte) *trace.Trace {
	t.Helper()
	tr, err := read(t, recording)
	fatal.If(t, err)
	return tr
}

// summed returns the session with another checksum.
func summed(t testing.TB, sum wire.Checksum) []byte {
	t.Helper()
	return written(t, func(e *wire.Encoder) {
		e.Checksum(sum)
		session(e)
	})
}

func TestStreamsOfEveryChecksumAreRead(t *testing.T) {
	want := asText(t, traceOf(t, summed(t, wire.CRC32C)))
	for name, sum := range map[string]wire.Checksum{"crc32c": wire.CRC32C, "": wire.CRC32C, "crc32": wire.CRC32, "none": wire.NoChecksum} {
		if got, ok := wire.ChecksumNamed(name); !ok || got != sum {
			t.Errorf("%q is checksum %d, want %d", name, got, sum)
		}
		equal.Values(t, "with checksum "+name, want, asText(t, traceOf(t, summed(t, sum))))
	}
	if _, ok := wire.ChecksumNamed("md5"); ok {
		t.Error("there is no md5 here")
	}
}

// TestTheChecksumIsThatOfZlib looks at the first frame.
func TestTheChecksumIsThatOfZlib(t *testing.T) {
	const header = 8
	stream := summed(t, wire.CRC32)
	length, n := binary.Uvarint(stream[header+1:])
	end := header + 1 + n + int(length)
	if got, want := binary.LittleEndian.Uint32(stream[end:]), crc32.ChecksumIEEE(stream[header:end]); got != want {
		t.Errorf("the checksum is %#x, want %#x", got, want)
	}
}

func TestDamageShowsInEveryChecksum(t *testing.T) {
	for _, sum := range []wire.Checksum{wire.CRC32C, wire.CRC32} {
		stream := summed(t, sum)
		stream[len(stream)/2] ^= 1
		_, err := wire.Read(t.Context(), bytes.NewReader(stream), wire.Options{})
		if corrupt := (*wire.CorruptError)(nil); !errors.As(err, &corrupt) || !strings.Contains(corrupt.Reason, "checksum") {
			t.Errorf("checksum %d: got %v", sum, err)
		}
	}
	stream := summed(t, wire.NoChecksum)
	stream[7] |= 0xc0
	_, err := wire.Read(t.Context(), bytes.NewReader(stream), wire.Options{})
	if corrupt := (*wire.CorruptError)(nil); !errors.As(err, &corrupt) || !strings.Contains(corrupt.Reason, "names an unknown checksum") {
		t.Errorf("an unknown checksum: got %v", err)
	}
}

// TestCopiesHaveTheChecksumThatAllKnow copies several streams, each with another checksum.
func TestCopiesHaveTheChecksumThatAllKnow(t *testing.T) {
	all := [][]byte{summed(t, wire.NoChecksum), summed(t, wire.CRC32), summed(t, wire.CRC32C), summed(t, wire.NoChecksum)}
	var copied bytes.Buffer
	c := wire.NewCopier(&copied, bytes.NewReader(bytes.Join(all, nil)), wire.Limits{})
	for err := error(nil); err == nil; {
		_, err = c.Next()
	}
	fatal.If(t, c.Bye("enough"))
	want := bytes.Repeat(summed(t, wire.CRC32C), len(all))
	if got := copied.Bytes(); !bytes.HasPrefix(got, want) {
		t.Error("a copy is not the same stream with checksums")
	} else if tr := traceOf(t, got); tr.Live.Note != "enough" {
		t.Errorf("the copy ends with %q", tr.Live.Note)
	}
}

// sum returns the checksum that follows a frame.
func sum(frame []byte) []byte {
	return binary.LittleEndian.AppendUint32(nil, crc32.Checksum(frame, crc32.MakeTable(crc32.Castagnoli)))
}

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
