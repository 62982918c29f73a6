package pytorchtest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// plain returns a state as lines, without what a rewind cannot know: the sizes
// of live large blocks, which may lie up to 1 MiB above the rounded request.
func plain(state trace.State, large trace.StringID) []string {
	var lines []string
	for _, s := range state.Segments {
		lines = append(lines, fmt.Sprintf("segment %#x %d %v", s.Addr, s.Size, s.Expandable))
		for _, b := range s.Blocks {
			if !b.State.Live() {
				continue
			}
			size := b.Size
			if s.Type == large && !s.Expandable {
				size = 0
			}
			lines = append(lines, fmt.Sprintf("block %#x %d %d %s", b.Addr, size, b.Requested, b.State))
		}
	}
	return lines
}

func TestRewindFindsTheStateAfterEveryEvent(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			states := map[int]trace.State{}
			o := pytorchtest.Options{Seed: seed, Operations: 300, Expandable: seed%2 == 1}
			o.Watch = func(_, event int, state trace.State) { states[event] = state }
			tr := pytorchtest.Random(o)
			r := trace.NewRewinder(tr, &tr.Devices[0])
			large := trace.StringID(slices.Index(tr.Tables.Strings, "large"))
			for event := tr.Devices[0].Events.Len() - 1; event >= -1; event-- {
				want, known := states[event]
				if event == -1 {
					want, known = trace.State{}, true
				}
				if !known {
					continue
				}
				r.To(event)
				if diff := cmp.Diff(plain(want, large), plain(r.State(), large)); diff != "" {
					t.Fatalf("after event %d (-real +rewound):\n%s", event, diff)
				}
			}
		})
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
