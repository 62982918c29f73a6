package pytorchtest

import (
	"embed"
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// SharedFolder returns the folder of real PyTorch snapshots beside the project:
// $MEMTOP_SNAPSHOTS, or shared/snapshots next to the project's root. Without
// one, the test is skipped.
func SharedFolder(t testing.TB) string {
	t.Helper()
	if folder := os.Getenv("MEMTOP_SNAPSHOTS"); folder != "" {
		return folder
	}
	at, err := os.Getwd()
	fatal.If(t, err)
	for parent := filepath.Dir(at); parent != at; at, parent = parent, filepath.Dir(parent) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err != nil {
			continue
		}
		folder := filepath.Join(parent, "shared", "snapshots")
		if _, err := os.Stat(folder); err == nil {
			return folder
		}
		break
	}
	t.Skip("the real snapshots are not here: set MEMTOP_SNAPSHOTS to their folder")
	return ""
}

// SharedPickles returns the paths of the real snapshot pickles, or skips the
// test.
func SharedPickles(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(SharedFolder(t), "*.pickle"))
	if err != nil || len(paths) == 0 {
		t.Skipf("no snapshots in %s", SharedFolder(t))
	}
	return paths
}

//go:embed testdata
var stored embed.FS

// TinyTraining returns the trace of a training run as PyTorch 2.10 records it:
// some memory from before the recording, the making of a model, three steps of
// forward, backward and AdamW, then a batch that is too large and its
// out-of-memory error. It has stacks of all the kinds that distinguish memory.
// The pickle of the same run is cmd/memtop/testdata/tiny_training.pickle.
func TinyTraining() *trace.Trace { return read("tiny_training") }

// PinnedEvaluation returns the trace of a program that runs out of memory because
// of fragmentation. It evaluates ten batches and keeps all of their outputs, then
// only the scores: 2 MiB in each segment of 20 MiB, which no request of training
// fits into and which cannot be given back.
func PinnedEvaluation() *trace.Trace { return read("pinned_evaluation") }

func read(name string) *trace.Trace {
	f, err := stored.Open("testdata/" + name + ".txt")
	if err != nil {
		panic(err)
	}
	t, err := tracetest.ParseText(f)
	if err != nil {
		panic(name + ": " + err.Error())
	}
	return t
}
