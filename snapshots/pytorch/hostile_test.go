package pytorch_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"

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
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
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
