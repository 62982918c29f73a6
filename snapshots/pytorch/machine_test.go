package pytorch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// decodeBoth decodes a pickle as usual and with shapes turned off.
func decodeBoth(t *testing.T, pickle []byte) (usual, without *machine) {
	t.Helper()
	run := func(misses int) *machine {
		m := newMachine(context.Background(), bytes.NewReader(pickle), Options{Total: int64(len(pickle))})
		m.shape.misses, m.blockShape.misses = misses, misses
		t.Cleanup(m.release)
		fatal.If(t, m.run())
		return m
	}
	return run(0), run(math.MaxInt)
}

func traceText(t *testing.T, m *machine) string {
	t.Helper()
	tr, err := m.finish()
	fatal.If(t, err)
	return tracetest.Text(t, tr)
}

// TestShapesChangeNothingButSpeed decodes real files with and without shapes:
// the traces are equal, and shapes read nearly every entry.
func TestShapesChangeNothingButSpeed(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			pickle := fatal.Read(t, path)
			usual, without := decodeBoth(t, pickle)
			if traceText(t, usual) != traceText(t, without) {
				t.Error("the two traces differ")
			}
			if n := usual.log.Len(); n > 5000 && usual.shape.hits < n*3/4 {
				t.Errorf("shapes read %d of %d entries, want three quarters at least", usual.shape.hits, n)
			}
			if n := len(usual.blocks.chunks); n > 1 && usual.blockShape.hits < n*blockChunk/2 {
				t.Errorf("shapes read %d of some %d blocks, want half at least", usual.blockShape.hits, n*blockChunk)
			}
			if without.shape.hits+without.blockShape.hits > 0 {
				t.Error("the comparison used shapes as well")
			}
		})
	}
}

// TestAnEntryOfAnotherShapeIsReadTheOrdinaryWay puts an entry with other keys,
// one with a new string and one with a new stack among entries of one shape.
func TestAnEntryOfAnotherShapeIsReadTheOrdinaryWay(t *testing.T) {
	usual, without := decodeBoth(t, mixedShapes())
	if usual.shape.hits == 0 || usual.shape.misses == 0 {
		t.Fatalf("%d hits and %d misses, want both", usual.shape.hits, usual.shape.misses)
	}
	if got, want := traceText(t, usual), traceText(t, without); got != want {
		t.Errorf("with shapes:\n%s\nwithout:\n%s", got, want)
	}
}

// mixedShapes is a pickle of a list of traces whose entries mostly have one shape.
func mixedShapes() []byte {
	entries := &pytorchtest.List{}
	for i := range 3000 {
		entry := []any{"action", "alloc", "addr", int64(i)<<24 | 1<<36, "size", int64(512)}
		switch i % 500 {
		case 7:
			entry = []any{"size", int64(512), "action", "oom"} // other keys
		case 9:
			entry[1] = fmt.Sprint("odd", i/500) // a text not seen before
		}
		dict := &pytorchtest.Dict{}
		for k := 0; k < len(entry); k += 2 {
			dict.Items = append(dict.Items, pytorchtest.Item{Key: entry[k], Value: entry[k+1]})
		}
		entries.Items = append(entries.Items, dict)
	}
	traces := &pytorchtest.List{Items: []any{entries}}
	pickle := pytorchtest.PythonPickle(&pytorchtest.Dict{Items: []pytorchtest.Item{{Key: "device_traces", Value: traces}}}, 4)
	return append(pickle, make([]byte, 2*lookahead)...) // room to look ahead, after STOP
}

// TestNoEntryReadIsLostWhenAFileIsCut cuts real files at many places: every
// trace entry that was read whole is in the result.
func TestNoEntryReadIsLostWhenAFileIsCut(t *testing.T) {
	folder := pytorchtest.SharedFolder(t)
	for _, name := range []string{"trimmed_by_hand.torch2.10.pickle", "python_frames_only.torch2.10.pickle"} {
		t.Run(name, func(t *testing.T) {
			pickle, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Skip("the real snapshots are not here: ", err)
			}
			for n := 100; n < len(pickle)-1; n += 4_001 {
				checkSalvaged(t, pickle[:n])
			}
		})
	}
}

func checkSalvaged(t *testing.T, cut []byte) {
	t.Helper()
	m := newMachine(context.Background(), bytes.NewReader(cut), Options{Total: int64(len(cut))})
	if err := m.run(); !errors.Is(err, errTruncated) {
		t.Fatalf("cut at %d: %v", len(cut), err)
	}
	if err := m.salvage(); err != nil {
		t.Fatalf("cut at %d: salvaging: %v", len(cut), err)
	}
	tr, err := m.finish()
	if err != nil {
		t.Fatalf("cut at %d: finishing: %v", len(cut), err)
	}
	events, segments := 0, 0
	for i := range tr.Devices {
		events += tr.Devices[i].Events.Len()
		segments += len(tr.Devices[i].Final.Segments)
	}
	if events != m.log.Len() || segments != m.segments.len() {
		t.Errorf("cut at %d: %d of %d entries and %d of %d segments are in the result",
			len(cut), events, m.log.Len(), segments, m.segments.len())
	}
}

func TestNamesAreNumberedAsTheMachineInternsThem(t *testing.T) {
	in := trace.NewInterner()
	internNames(in)
	for n, text := range names {
		if got := nameOf(in.String(text)); text == "" || got != name(n) {
			t.Errorf("name %d %q is interned as %d", n, text, got)
		}
	}
	for k := range trace.KindCount {
		kind := trace.Kind(k)
		if got := kindOf(in.String(kind.String())); got != kind {
			t.Errorf("the action %q is read as %q", kind, got)
		}
	}
	if got := kindOf(in.String("segment_frobnicate")); got != trace.Other {
		t.Errorf("an unknown action is read as %q", got)
	}
}

func TestRunsThatAreRememberedCountAgainstTheBound(t *testing.T) {
	m := newMachine(t.Context(), bytes.NewReader(nil), Options{})
	t.Cleanup(m.release)
	before := m.free()
	m.raw.add(make([]byte, 1000), 1)
	if got := before - m.free(); got < 1000 {
		t.Errorf("a run of 1,000 bytes takes %d of what may still be allocated", got)
	}
}
