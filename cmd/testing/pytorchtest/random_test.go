package pytorchtest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestRandomTracesAreConsistent(t *testing.T) {
	kinds := map[trace.Kind]int{}
	for seed := range uint64(60) {
		o := pytorchtest.Options{
			Seed: seed, Devices: 1 + int(seed%3), Operations: 300, Expandable: seed%2 == 1, FreeSites: seed%4 > 1,
		}
		if seed%5 == 0 {
			o.Ring = 100
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			tr := pytorchtest.Random(o)
			for _, p := range tracetest.Check(tr).First {
				t.Error(p)
			}
			for i := range tr.Devices {
				d := &tr.Devices[i]
				_, problems := trace.Rewind(tr, d)
				for _, p := range problems.First {
					t.Error("rewind: ", p)
				}
				for e := range d.Events.Len() {
					kinds[d.Events.At(e).Kind]++
				}
			}
		})
	}
	for k := trace.Alloc; k <= trace.Annotate; k++ {
		if kinds[k] == 0 && k != trace.Free {
			t.Errorf("no random trace has an event of kind %s", k)
		}
	}
}

// TestStoredFilesAreTheSameRun compares the snapshot that the command's tests read.
func TestStoredFilesAreTheSameRun(t *testing.T) {
	got, err := os.ReadFile(filepath.Join("..", "..", "memtop", "testdata", "tiny_training.pickle"))
	if want := pytorchtest.PythonPickle(pytorchtest.Value(pytorchtest.TinyTraining()), 4); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the pickle has %d bytes, %v, and is not that of the text, %d bytes", len(got), err, len(want))
	}
	for name, stored := range map[string]*trace.Trace{"training": pytorchtest.TinyTraining(), "evaluation": pytorchtest.PinnedEvaluation()} {
		for _, p := range tracetest.Check(stored).First {
			t.Errorf("%s: %s", name, p)
		}
	}
}
