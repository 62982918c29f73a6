package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// framesOf returns a stream of the header, a hello and frames made of a type and
// a payload each.
func framesOf(parts ...any) []byte {
	stream := []byte("\x8fmtr\r\n\x01\x00")
	hello := []byte{byte(wire.HelloFrame), 2, '{', '}'}
	stream = append(append(stream, hello...), sum(hello)...)
	for i := 0; i < len(parts); i += 2 {
		payload := parts[i+1].([]byte)
		frame := binary.AppendUvarint([]byte{byte(parts[i].(wire.Type))}, uint64(len(payload)))
		frame = append(frame, payload...)
		stream = append(append(stream, frame...), sum(frame)...)
	}
	return stream
}

func TestDecodersRefuseNonsense(t *testing.T) {
	huge := binary.AppendUvarint(nil, 1<<62)
	tests := map[string]struct {
		stream []byte
		want   string
	}{
		"nothing like a stream":          {[]byte("GET / HTTP/1.1"), "this is not a memtop stream"},
		"a frame before hello":           {[]byte("\x8fmtr\r\n\x01\x00\x10\x02{}" + string(sum([]byte("\x10\x02{}")))), "it comes before hello"},
		"a length of 2^34":               {[]byte("\x8fmtr\r\n\x01\x00\x0a\xff\xff\xff\xff\x3f"), "a frame of more than 16777216 bytes"},
		"a length without an end":        {append([]byte("\x8fmtr\r\n\x01\x00\x0a"), bytes.Repeat([]byte{0x80}, 100)...), "a frame of more than"},
		"a byte that is not a type":      {append(framesOf(), 0xfe), "0xfe is not a type of a frame"},
		"a string longer than its frame": {framesOf(wire.StringTable, []byte{100, 'a'}), "cut off"},
		"a string of 2^62 bytes":         {framesOf(wire.StringTable, huge), "cut off"},
		"a stack of frames that are not": {framesOf(wire.StackTable, []byte{1, 1}), "refers to a missing entry"},
		"a stack of 2^62 frames":         {framesOf(wire.StackTable, huge), "cut off"},
		"a note of a string to come":     {framesOf(wire.NoteTable, []byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "refers to a missing entry"},
		"a note that is cut off":         {framesOf(wire.NoteTable, []byte{0, 0}), "cut off"},
		"a number of eleven bytes":       {framesOf(wire.StreamTable, bytes.Repeat([]byte{0xff}, 11)), "cut off"},
		"a base of 2^62 segments":        {framesOf(wire.BaseFrame, append([]byte{0, 0, 0, 0}, huge...)), "it is cut off"},
		"events that are not there":      {framesOf(wire.EventsFrame, []byte{0, 0, 100}), "it is cut off"},
		"2^62 events":                    {framesOf(wire.EventsFrame, append([]byte{0, 0}, huge...)), "it is cut off"},
		"a million events in one frame": {
			framesOf(wire.EventsFrame, append([]byte{0, 0, 0xc0, 0x84, 0x3d}, bytes.Repeat([]byte{0x60}, 1_000_000)...)), "1000000 events in one frame",
		},
		"JSON that is none":            {framesOf(wire.StepFrame, []byte("{")), "is not as JSON has it"},
		"steps that are cut":           {framesOf(wire.StepsFrame, []byte{2, 0, 0, 0}), "cut off"},
		"amounts of no names":          {framesOf(wire.StepsFrame, append([]byte{1, 2}, append(make([]byte, 11), 4, 0, 0)...)), "cut off"},
		"too many steps":               {framesOf(wire.StepsFrame, append([]byte{0x81, 0x20}, make([]byte, 12*4097)...)), "4097 steps"},
		"steps of 2 MiB":               {framesOf(wire.StepsFrame, append([]byte{1}, make([]byte, 2<<20)...)), "more than 4096 or 1048576"},
		"JSON of 5 MiB":                {framesOf(wire.StepFrame, append([]byte(`{}`), bytes.Repeat([]byte(" "), 5<<20)...)), "more than 4194304"},
		"JSON nested without end":      {framesOf(wire.SettingsFrame, bytes.Repeat([]byte(`{"a":`), 100_000)), "is not as JSON has it"},
		"settings nested too deep":     {framesOf(wire.SettingsFrame, []byte(strings.Repeat(`{"a":`, 50)+"1"+strings.Repeat("}", 50))), "nested more than 16 deep"},
		"a change of an unheard state": {framesOf(wire.ChangeFrame, []byte("{\"state\":\"\\u001b[2J\"}")), `"\x1b[2J" is not a state of a change`},
		"a base larger than the limit": {framesOf(wire.BaseFrame, slowBase(2000)), "it has more than 1000 blocks"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := wire.NewDecoder(bytes.NewReader(test.stream), wire.Limits{Tables: 12 << 20, Blocks: 1000})
			var err error
			for err == nil {
				_, err = d.Next()
			}
			var corrupt *wire.CorruptError
			if !errors.As(err, &corrupt) || !strings.Contains(corrupt.Reason, test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if trace.Printable(err.Error()) != err.Error() {
				t.Errorf("the error is not fit to be shown: %q", err)
			}
		})
	}
}

// slowBase is the payload of a base with so many blocks of no size.
func slowBase(blocks int) []byte {
	b := []byte{0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	b = binary.AppendUvarint(b, uint64(blocks))
	return append(b, make([]byte, 2*blocks)...)
}

func TestLengthsAreOnlyClaims(t *testing.T) {
	stream := []byte("\x8fmtr\r\n\x01\x00\x0a\xff\xff\xff\x07{}")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		if _, err := wire.NewDecoder(bytes.NewReader(stream), wire.Limits{}).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 100; each > 512<<10 {
		t.Errorf("a frame that claims 16 MiB and has 2 bytes takes %d bytes", each)
	}
}

func TestOtherVersions(t *testing.T) {
	for theirs, want := range map[byte]string{0: "update the other side", 2: "update this program", 255: "update this program"} {
		_, err := wire.NewDecoder(strings.NewReader("\x8fmtr\r\n"+string([]byte{theirs, 9})), wire.Limits{}).Next()
		var version *wire.VersionError
		if !errors.As(err, &version) || version.Theirs != int(theirs) || !strings.Contains(err.Error(), want) {
			t.Errorf("version %d: got %v, want %q", theirs, err, want)
		}
	}
	for _, minor := range []byte{0, 0x23} { // what older and newer probes send
		stream := written(t, session)
		stream[7] = minor
		if got, err := read(t, stream); err != nil || got.Device(0).Events.Len() != 14 {
			t.Errorf("minor version %d: %v", minor, err)
		}
	}
}

// TestMemoryIsBounded sends for ever what a program may send for ever.
func TestMemoryIsBounded(t *testing.T) {
	r, w := io.Pipe()
	defer func() { _ = r.Close() }() // which ends the writer
	go endless(w)
	s := wire.NewStream(r, wire.StreamOptions{Memory: wire.MemoryOf(1 << 16)})
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early uint64
	for round := range 60 {
		for range 100 {
			if _, err := s.Advance(); err != nil {
				t.Fatal(err)
			}
		}
		tr := s.Trace()
		if n := tr.Device(0).Events.Len(); n > 1<<17 {
			t.Fatalf("%d events are kept", n)
		}
		if round == 19 {
			early = heap()
		}
	}
	if late := heap(); late > early+16<<20 {
		t.Errorf("the heap went from %d to %d bytes", early, late)
	}
	runtime.KeepAlive(s)
}

// endless writes a stream that does not end: allocations, steps with layers,
// changes and gauges, and a lost stretch now and then.
func endless(w io.Writer) {
	e := wire.NewEncoder(w)
	in := tables()
	view := in.View()
	e.Hello(greeting())
	e.Tables(&view)
	base := func() *trace.State {
		return &trace.State{Segments: []trace.Segment{{
			Addr: firstAddr, Size: 2 * mib,
			SegmentFacts: trace.SegmentFacts{Type: 9}, Blocks: []trace.Block{{Addr: firstAddr, Size: 2 * mib}},
		}}}
	}
	layers := make([]trace.Layer, 300)
	for i := range layers {
		layers[i].Name = fmt.Sprintf("blocks.%d.attention.projection", i)
	}
	first := int64(0)
	for n := int64(1); e.Flush() == nil; n++ {
		if n%50 == 1 {
			e.Base(0, first, base(), 3, "too slow")
		}
		for range 100 {
			events := []trace.Event{
				{Kind: trace.Alloc, Addr: firstAddr, Size: 1000, Time: n, Stack: 2, Note: 2},
				{Kind: trace.FreeRequested, Addr: firstAddr, Size: 1000, Time: n, Stack: 2, Note: 2},
				{Kind: trace.FreeCompleted, Addr: firstAddr, Size: 1000, Time: n, Stack: 2, Note: 2},
			}
			e.Events(0, first, events)
			first += int64(len(events))
		}
		e.Step(&trace.Step{Number: 2 * n, Layers: layers})
		e.Steps([]*trace.Step{{Number: 2*n + 1, Categories: make([]trace.Amount, 8)}})
		e.Change(&trace.Change{ID: n, Key: "amp"})
		e.Gauges(make([]trace.Gauge, 8))
		e.Counters(wire.Counters{})
	}
}

// TestARunningProgramMayHoldOnlySoManyBlocks has a state that a recording may have, and
// that with what a screen makes of it would take a viewer's gigabyte.
func TestARunningProgramMayHoldOnlySoManyBlocks(t *testing.T) {
	const most = 1 << 18 // of which the segment is one
	for name, test := range map[string]struct {
		blocks  int
		memory  int64
		refused bool
	}{
		"as many as there may be":         {most - 1, 0, false},
		"one more":                        {most, 0, true},
		"one more of them in a recording": {most, 1 << 30, false},
	} {
		t.Run(name, func(t *testing.T) {
			stream := wire.NewStream(bytes.NewReader(framesOf(wire.BaseFrame, slowBase(test.blocks))), wire.StreamOptions{Memory: test.memory})
			_, err := stream.Advance()
			for err == nil {
				_, err = stream.Advance()
			}
			var corrupt *wire.CorruptError
			if refused := errors.As(err, &corrupt) && corrupt.Memory; refused != test.refused {
				t.Errorf("it ends with %v, want it refused for its memory: %v", err, test.refused)
			}
		})
	}
}
