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

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

const (
	oneFrame   = "}(X\x08\x00\x00\x00filenameX\x01\x00\x00\x00aX\x04\x00\x00\x00lineK\x01X\x04\x00\x00\x00nameX\x01\x00\x00\x00fu"
	framesOf1  = "}(X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocX\x06\x00\x00\x00framesh\x01u0"
	forwardOf1 = "}(X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocX\x0e\x00\x00\x00forward_framesh\x01u0"
)

// TestNothingGrowsBeyondTheLimit decodes inputs of about a megabyte in which few
// bytes, repeated, ask for much memory.
func TestNothingGrowsBeyondTheLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
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
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
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
