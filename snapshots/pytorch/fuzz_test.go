package pytorch_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// fuzzMemory is how much a decode of any input may keep.
const fuzzMemory = 64 << 20

// fuzzSeeds returns pickles of every protocol and of PyTorch's C++ pickler, of
// every layout, and hostile ones.
func fuzzSeeds(t testing.TB) [][]byte {
	t.Helper()
	var seeds [][]byte
	for i, layout := range pytorchtest.Layouts {
		small := layout.Strip(pytorchtest.Random(pytorchtest.Options{Seed: uint64(i), Operations: 12}))
		v := pytorchtest.Value(small)
		seeds = append(seeds, pytorchtest.PythonPickle(v, i%6), pytorchtest.CPPPickle(v, i%2 == 0))
	}
	for _, hostile := range pytorchtest.Hostile() {
		if len(hostile) < 1<<16 {
			seeds = append(seeds, hostile)
		}
	}
	return seeds
}

// FuzzDecode feeds the decoder any bytes. The result must be an error with its
// place, or a trace that can be read through and written back to a pickle that
// decodes to as many events.
func FuzzDecode(f *testing.F) {
	for _, seed := range fuzzSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := pytorch.Decode(context.Background(), bytes.NewReader(data), pytorch.Options{Bound: trace.FixedBound(fuzzMemory), Total: int64(len(data))})
		if err != nil {
			checkError(t, err, int64(len(data)))
			return
		}
		checkReadable(tr)
		checkRewritten(t, tr)
	})
}

func checkError(t *testing.T, err error, length int64) {
	t.Helper()
	var corrupt *pytorch.CorruptError
	if !errors.As(err, &corrupt) {
		t.Fatalf("error %v is not a CorruptError", err)
	}
	if corrupt.Offset < 0 || corrupt.Offset > length || corrupt.Reason == "" {
		t.Fatalf("error %+v names no place in the %d bytes", corrupt, length)
	}
}

// checkReadable follows every number of a trace into its table.
func checkReadable(tr *trace.Trace) {
	tables := tr.Tables
	devices := tr.Devices
	if tr.Pinned != nil {
		devices = append(slices.Clip(devices), *tr.Pinned)
	}
	for _, d := range devices {
		for i := range d.Events.Len() {
			e := d.Events.At(i)
			for _, frame := range tables.Stack(e.Stack) {
				_ = tables.FrameText(frame)
			}
			_ = tables.Notes[e.Note]
			_ = tables.Stream(e.Stream)
		}
		l := trace.NewLifetimes()
		l.Advance(d.Events)
		l.Finish(&d.Final)
		l.Alive(d.Events.Len()-1, func(id trace.AllocationID) bool {
			_ = l.Allocation(id)
			return true
		})
	}
}

func checkRewritten(t *testing.T, tr *trace.Trace) {
	t.Helper()
	var out bytes.Buffer
	if err := pytorch.Write(&out, tr); err != nil {
		t.Fatalf("write: %v", err)
	}
	again, err := pytorch.Decode(context.Background(), bytes.NewReader(out.Bytes()), pytorch.Options{Bound: trace.FixedBound(4 * fuzzMemory), Total: int64(out.Len())})
	if err != nil {
		t.Fatalf("what was written does not decode: %v", err)
	}
	if len(again.Devices) != len(tr.Devices) {
		t.Fatalf("%d devices became %d", len(tr.Devices), len(again.Devices))
	}
	if tr.Pinned != nil && (again.Pinned == nil || again.Pinned.Events.Len() != tr.Pinned.Events.Len()) {
		t.Fatalf("pinned memory %+v became %+v", tr.Pinned, again.Pinned)
	}
	for i := range tr.Devices {
		events := again.Devices[i].Events
		got, want := events.Len(), tr.Devices[i].Events.Len()
		if got == want+1 && events.At(want).Kind == trace.Snapshot {
			got-- // see "Categories and PyTorch's viewer"
		}
		if got != want {
			t.Errorf("device %d: %d events became %d", i, want, got)
		}
	}
}
