package pytorchtest_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

var update = flag.Bool("update", false, "rewrite the files that tests compare with")

// TestGoldenTrainingFile compares the snapshot that the command's tests
// read with a new one.
func TestGoldenTrainingFile(t *testing.T) {
	path := filepath.Join("..", "..", "memtop", "testdata", "tiny_training.pickle")
	want := pytorchtest.PythonPickle(pytorchtest.Value(pytorchtest.TinyTraining()), 4)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes and is not what TinyTraining gives, %d bytes; run the test with -update", path, len(got), len(want))
	}
}

func TestTheTrainingRunIsConsistent(t *testing.T) {
	tr := pytorchtest.TinyTraining()
	for _, p := range tracetest.Check(tr).First {
		t.Error(p)
	}
	base, problems := trace.Rewind(tr, &tr.Devices[0])
	if problems.Count > 0 || len(base.Segments) == 0 {
		t.Errorf("%d problems rewinding it to %d segments, want none and some", problems.Count, len(base.Segments))
	}
	kinds := map[trace.Kind]int{}
	for i := range tr.Devices[0].Events.Len() {
		kinds[tr.Devices[0].Events.At(i).Kind]++
	}
	if kinds[trace.OOM] != 1 || kinds[trace.SegmentFree] == 0 {
		t.Errorf("events %v, want one out-of-memory error after segments were given back", kinds)
	}
}
