package pytorch_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// hostileMemory and hostileTime bound what a pickle of a few kilobytes may
// cost. They are generous, since the machine may be busy.
const (
	hostileMemory = 64 << 20
	hostileTime   = 5 * time.Second
)

func TestHostilePicklesAreRefused(t *testing.T) {
	for name, data := range pytorchtest.Hostile() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			tr, err := pytorch.Decode(t.Context(), bytes.NewReader(data), pytorch.Options{Total: int64(len(data))})
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if tr, err := pytorch.Decode(t.Context(), bytes.NewReader(data), pytorch.Options{}); err == nil && !tr.Info.Truncated {
				t.Error("it was accepted from a pipe, whose length is not known")
			}
			var corrupt *pytorch.CorruptError
			switch {
			case err == nil && !tr.Info.Truncated:
				t.Error("it was accepted")
			case err != nil && !errors.As(err, &corrupt):
				t.Errorf("error %v (%T), want a *CorruptError", err, err)
			case corrupt != nil && (corrupt.Offset < 0 || corrupt.Offset > int64(len(data)) || corrupt.Reason == ""):
				t.Errorf("offset %d and reason %q are empty", corrupt.Offset, corrupt.Reason)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > hostileMemory {
				t.Errorf("it took %d MiB", grown>>20)
			}
			if took > hostileTime {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestASnapshotInItsOwnSegmentsIsLeftOut(t *testing.T) {
	tr := decode(t, []byte("\x80\x04}\x94\x8c\x08segments]\x94h\x00as."))
	if len(tr.Devices) != 0 || len(tr.Notices) == 0 {
		t.Errorf("%d devices and notices %q, want none and one that says so", len(tr.Devices), tr.Notices)
	}
}

// TestASnapshotCutAnywhereIsReadUpToThere cuts a small snapshot at every byte,
// in the encodings that differ in how containers are begun and ended.
func TestASnapshotCutAnywhereIsReadUpToThere(t *testing.T) {
	fatal.IfShort(t)
	whole := pytorchtest.Random(pytorchtest.Options{Seed: 2, Operations: 3})
	for _, name := range []string{"protocol 0", "protocol 2", "protocol 4", "C++", "C++ with tags"} {
		t.Run(name, func(t *testing.T) {
			data := encodings()[name](pytorchtest.Value(whole))
			most := 0
			for n := 0; n < len(data); n += 3 { // no opcode of these is so much longer
				tr, err := pytorch.Decode(t.Context(), bytes.NewReader(data[:n]), pytorch.Options{Total: int64(n)})
				var corrupt *pytorch.CorruptError
				if err != nil {
					if !errors.As(err, &corrupt) {
						t.Fatalf("cut at %d: error %v (%T)", n, err, err)
					}
					continue
				}
				if !tr.Info.Truncated || len(tr.Notices) == 0 {
					t.Fatalf("cut at %d of %d: not marked as cut", n, len(data))
				}
				most = max(most, events(tr))
				samePrefix(t, n, whole, tr)
			}
			if want := events(whole); most != want {
				t.Errorf("at most %d events were saved from a cut file, want all %d", most, want)
			}
		})
	}
}

func events(tr *trace.Trace) int {
	n := 0
	for _, d := range tr.Devices {
		n += d.Events.Len()
	}
	return n
}

// samePrefix checks that the trace of a cut file is the whole file's beginning.
func samePrefix(t *testing.T, cut int, whole, saved *trace.Trace) {
	t.Helper()
	for _, d := range saved.Devices {
		full := whole.Device(d.ID)
		if full == nil || d.Events.Len() > full.Events.Len() || len(d.Final.Segments) > len(full.Final.Segments) {
			t.Fatalf("cut at %d: device %d has more than the whole file", cut, d.ID)
		}
		for i := range d.Events.Len() {
			got, want := d.Events.At(i), full.Events.At(i)
			if got.Kind != want.Kind || got.Addr != want.Addr || got.Size != want.Size || got.Time != want.Time {
				t.Fatalf("cut at %d: event %d is %+v, want %+v", cut, i, *got, *want)
			}
		}
	}
}

const (
	oneFrame   = "}(X\x08\x00\x00\x00filenameX\x01\x00\x00\x00aX\x04\x00\x00\x00lineK\x01X\x04\x00\x00\x00nameX\x01\x00\x00\x00fu"
	framesOf1  = "}(X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocX\x06\x00\x00\x00framesh\x01u0"
	forwardOf1 = "}(X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocX\x0e\x00\x00\x00forward_framesh\x01u0"
)

// TestNothingGrowsBeyondTheLimit decodes inputs of about a megabyte in which few
// bytes, repeated, ask for much memory.
func TestNothingGrowsBeyondTheLimit(t *testing.T) {
	fatal.IfShort(t)
	numbered := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, binary.LittleEndian.AppendUint32(nil, uint32(i)))
		}
		return b.String()
	}
	list := "]q\x01(" + strings.Repeat("h\x00", 999) + "e(" + strings.Repeat("h\x00", 999) + "e"
	for name, ops := range map[string]string{
		"a stack that is duplicated and added to": oneFrame + "q\x00](" + strings.Repeat("h\x00", 900) + "e" +
			strings.Repeat("2(h\x00e0", 100_000),
		"a list of frames used whenever it has grown": oneFrame + "q\x00" + list +
			strings.Repeat("(h\x00e"+framesOf1, 20_000),
		"a list of texts used whenever it has grown": "X\x01\x00\x00\x00tq\x00" + list +
			strings.Repeat("(h\x00e"+forwardOf1, 20_000),
		"pools":   numbered("J%sK\x01\x860", 600_000),
		"streams": numbered("}(X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocX\x06\x00\x00\x00streamJ%su0", 400_000),
		"frames":  numbered("}(X\x08\x00\x00\x00filenameX\x01\x00\x00\x00aX\x04\x00\x00\x00lineJ%su0", 900_000),
	} {
		t.Run(name, func(t *testing.T) {
			const limit = 32 << 20
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := pytorch.Decode(t.Context(), strings.NewReader("\x80\x02"+ops+"."), pytorch.Options{Bound: trace.FixedBound(limit)})
			runtime.ReadMemStats(&after)
			wantTooMuch(t, err)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 6*limit {
				t.Errorf("it took %d MiB, with %d allowed", grown>>20, limit>>20)
			}
		})
	}
}

// TestSnapshotsNeedFarLessThanTheBound decodes snapshots of the first and the last
// layout in every encoding with half of what the default bound gives for each byte, and little
// besides.
func TestSnapshotsNeedFarLessThanTheBound(t *testing.T) {
	fatal.IfShort(t)
	half := trace.Bound{Least: 28 << 20, PerByte: trace.DefaultBound.PerByte / 2}
	last := len(pytorchtest.Layouts) - 1
	for _, layout := range []pytorchtest.Layout{pytorchtest.Layouts[0], pytorchtest.Layouts[last]} {
		v := pytorchtest.Value(layout.Strip(pytorchtest.Random(pytorchtest.Options{Seed: 3, Operations: 2500})))
		for name, encode := range encodings() {
			if _, err := pytorch.Decode(t.Context(), bytes.NewReader(encode(v)), pytorch.Options{Bound: half}); err != nil {
				t.Errorf("PyTorch %s, %s: %v", layout.Name, name, err)
			}
		}
	}
}

func wantTooMuch(t *testing.T, err error) {
	t.Helper()
	var corrupt *pytorch.CorruptError
	if !errors.As(err, &corrupt) || !strings.Contains(corrupt.Reason, "--max-memory") {
		t.Errorf("error %v, want a *CorruptError that names --max-memory", err)
	}
}

// TestALengthNearTheLargestIntegerIsRefused declares a length at which a sum
// would overflow, in an input of unknown length.
func TestALengthNearTheLargestIntegerIsRefused(t *testing.T) {
	head := "\x80\x04N\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"
	in := io.MultiReader(strings.NewReader(head), bytes.NewReader(make([]byte, 4<<20)))
	_, err := pytorch.Decode(t.Context(), in, pytorch.Options{Bound: trace.FixedBound(1 << 20)})
	wantTooMuch(t, err)
}

func TestASegmentListedOverAndOverIsCounted(t *testing.T) {
	block := "}(X\x04\x00\x00\x00sizeK\x01X\x05\x00\x00\x00stateX\x08\x00\x00\x00inactiveu"
	segment := "}(X\x0a\x00\x00\x00total_sizeK\x01X\x06\x00\x00\x00blocks](" + strings.Repeat(block, 500) + "euq\x00"
	data := "\x80\x02}(X\x08\x00\x00\x00segments](" + segment + strings.Repeat("h\x00", 100_000) + "eu."
	_, err := pytorch.Decode(t.Context(), strings.NewReader(data), pytorch.Options{Bound: trace.FixedBound(64 << 20)})
	wantTooMuch(t, err)
}

func TestAnEntryMayBeListedTwice(t *testing.T) {
	entry := "}(X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocX\x04\x00\x00\x00sizeK\x07uq\x00"
	tr := decode(t, []byte("\x80\x02}X\x0d\x00\x00\x00device_traces]]("+entry+"h\x00h\x00eas."))
	if got := tr.Devices[0].Events.Len(); got != 3 {
		t.Fatalf("%d events, want 3", got)
	}
	for i := range 3 {
		if got := tr.Devices[0].Events.At(i).Size; got != 7 {
			t.Errorf("event %d has size %d, want 7", i, got)
		}
	}
}

// TestOneListMayBeFramesAndForwardFrames decodes a memoized list to which two
// keys refer, each with its own meaning.
func TestOneListMayBeFramesAndForwardFrames(t *testing.T) {
	entry := "}(X\x06\x00\x00\x00actionX\x05\x00\x00\x00alloc" +
		"X\x06\x00\x00\x00frames](X\x01\x00\x00\x00aX\x01\x00\x00\x00beq\x00X\x0e\x00\x00\x00forward_framesh\x00u"
	tr := decode(t, []byte("\x80\x02}X\x0d\x00\x00\x00device_traces]]"+entry+"aas."))
	e := tr.Devices[0].Events.At(0)
	note := tr.Tables.Notes[e.Note]
	if int(note.Forward) >= len(tr.Tables.Lists) || len(tr.Tables.Lists[note.Forward]) != 2 {
		t.Errorf("forward frames are list %d of %d, want one of two texts", note.Forward, len(tr.Tables.Lists))
	}
	if frames := tr.Tables.Stack(e.Stack); len(frames) != 0 {
		t.Errorf("%d frames, want none: texts are no frames", len(frames))
	}
}
