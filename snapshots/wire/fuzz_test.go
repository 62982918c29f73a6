package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// play reads a stream of anything, asks of the trace what viewers ask, and
// returns the error that ended it.
func play(t *testing.T, r io.Reader) error {
	t.Helper()
	s := wire.NewStream(r, wire.StreamOptions{Memory: wire.MemoryOf(1 << 16), Limits: wire.Limits{Tables: 1 << 20, Blocks: 1 << 12}})
	for n := 0; ; n++ {
		if _, err := s.Advance(); err != nil {
			return err
		}
		if s.Hello() == nil {
			t.Fatal("a frame before hello")
		}
		if n%8 != 0 {
			continue
		}
		tr := s.Trace()
		for i := range tr.Devices {
			d := &tr.Devices[i]
			trace.Rewind(tr, d)
			l := trace.NewLifetimes()
			l.Advance(d.Events)
			l.Finish(&d.Final)
		}
	}
}

func known(err error) bool {
	var corrupt *wire.CorruptError
	var version *wire.VersionError
	return errors.As(err, &corrupt) || errors.As(err, &version) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// FuzzDecoder reads anything. Mostly a checksum stops it; see FuzzFrames.
func FuzzDecoder(f *testing.F) {
	f.Add(written(f, session))
	f.Add([]byte("\x8fmtr\r\n\x01\x00\x0a\xff\xff\xff\x07"))
	f.Add([]byte("\x8fmtr\r\n\x02\x00"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		if err := play(t, bytes.NewReader(stream)); !known(err) {
			t.Errorf("got %v", err)
		}
		if _, err := wire.Read(t.Context(), bytes.NewReader(stream), wire.Options{Bound: trace.FixedBound(1 << 26)}); err != nil && !known(err) {
			t.Errorf("read: got %v", err)
		}
		c := wire.NewCopier(io.Discard, bytes.NewReader(stream), wire.Limits{})
		for err := error(nil); err == nil; {
			_, err = c.Next()
		}
	})
}

// unframed takes the header and the checksums out of a stream: what is left is
// each frame's type, two bytes of its length, and its payload.
func unframed(stream []byte) []byte {
	var out []byte
	for at := 8; at < len(stream); {
		length, n := binary.Uvarint(stream[at+1:])
		out = append(out, stream[at], byte(length), byte(length>>8))
		at += 1 + n
		out = append(out, stream[at:at+int(length)]...)
		at += int(length) + 4
	}
	return out
}

// framed is the stream of which unframed leaves b.
func framed(b []byte) []byte {
	stream := []byte("\x8fmtr\r\n\x01\x02")
	for len(b) >= 3 {
		length := min(int(b[1])|int(b[2])<<8, len(b)-3)
		frame := binary.AppendUvarint([]byte{b[0]}, uint64(length))
		frame = append(frame, b[3:3+length]...)
		stream = append(append(stream, frame...), sum(frame)...)
		b = b[3+length:]
	}
	return stream
}

// FuzzFrames reads frames of anything, with the checksums that fit.
func FuzzFrames(f *testing.F) {
	whole := unframed(written(f, session))
	if !bytes.Equal(framed(whole), written(f, session)) {
		f.Fatal("a stream that was taken apart and put together is another one")
	}
	f.Add(whole)
	view := tables().View()
	f.Add(unframed(written(f, func(e *wire.Encoder) {
		e.Hello(&wire.Hello{})
		e.Tables(&view)
		s := trace.State{Segments: []trace.Segment{{Addr: 1 << 20, Size: 4 * mib, SegmentFacts: trace.SegmentFacts{Expandable: true}, Blocks: []trace.Block{{Addr: 1 << 20, Size: 4 * mib}}}}}
		e.Base(1, 0, &s, 0, "")
		e.Events(1, 0, []trace.Event{
			{Kind: trace.SegmentMap, Addr: 5 * mib, Size: 2 * mib},
			{Kind: trace.Alloc, Addr: 1 << 20, Size: 6},
			{Kind: trace.SegmentUnmap, Addr: 2 * mib, Size: 2 * mib},
			{Kind: trace.SegmentAlloc, Addr: 1 << 40, Size: 20 * mib},
			{Kind: trace.Retag, Addr: 1 << 20, Note: 2},
			{Kind: trace.Lost, Addr: 1 << 20},
			{Kind: trace.SegmentFree, Addr: 1 << 40, Size: 20 * mib},
		})
		e.Base(1, 9, &trace.State{}, -1, "lost")
	})))
	f.Add(unframed(written(f, func(e *wire.Encoder) {
		e.Hello(greeting())
		e.Tables(&view)
		for _, now := range []*trace.Trace{oneBlock(allocAt(10)), oneBlock(allocAt(10), freeAt(12)), oneBlock(freeAt(30), allocAt(40))} {
			e.Snapshot(pickled(f, now))
			e.Tags(0, []trace.Tag{{Addr: firstAddr, Note: 2}})
			e.Step(&trace.Step{Number: 1, Time: 11})
			e.Steps([]*trace.Step{
				{Number: 2, Loss: 2, Categories: []trace.Amount{{Name: "a", Bytes: 1}}, Settings: []trace.Value{{Key: "k", Value: "v"}}},
				{Number: 3, Loss: 1, Categories: []trace.Amount{{Name: "a", Bytes: 2}}, Settings: []trace.Value{{Key: "k", Value: "v"}}},
			})
			e.Counters(wire.Counters{})
		}
	})))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := play(t, bytes.NewReader(framed(b))); !known(err) {
			t.Errorf("got %v", err)
		}
	})
}

// FuzzSettings writes what it read, and reads the same again.
func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"a": 1, "b": 1.0, "c": [true, null, {"1": -4}], "d": "x", "e": 1e400, "f": 99999999999999999999}`))
	f.Add([]byte(`null`))
	f.Add(bytes.Repeat([]byte(`{"a":[`), 40))
	f.Fuzz(func(t *testing.T, text []byte) {
		var first, again wire.Settings
		if json.Unmarshal(text, &first) != nil {
			return
		}
		out, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", text, err)
		}
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatalf("%q became %q, which cannot be read: %v", text, out, err)
		}
		if second, err := json.Marshal(again); err != nil || !bytes.Equal(out, second) {
			t.Errorf("%q became %q and then %q (%v)", text, out, second, err)
		}
	})
}
