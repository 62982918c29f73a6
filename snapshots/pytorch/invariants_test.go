package pytorch_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/google/go-cmp/cmp"
)

// trimmed reports whether events or segments were removed from a file by hand,
// so that its parts contradict each other.
func trimmed(path string) bool { return strings.HasPrefix(filepath.Base(path), "trimmed_by_hand") }

func TestRealFilesKeepTheAllocatorsRules(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			tr := decodeFile(t, path)
			got := tracetest.Check(tr)
			if trimmed(path) {
				if got.Count == 0 {
					t.Error("no problem found in a file that was trimmed by hand")
				}
				return
			}
			for _, p := range got.First {
				t.Error(p)
			}
		})
	}
}

func TestRealFilesRewindWithoutAProblem(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			tr := decodeFile(t, path)
			for i := range tr.Devices {
				d := &tr.Devices[i]
				base, problems := trace.Rewind(tr, d)
				if trimmed(path) {
					continue
				}
				for _, p := range problems.First {
					t.Error(p)
				}
				start := *tr
				start.Devices = []trace.Device{{ID: d.ID, Final: base}}
				for _, p := range tracetest.Check(&start).First {
					t.Error("in the base state: ", p)
				}
			}
		})
	}
}

func TestRealFilesKeepTheirMeaningAsText(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			once := tracetest.Text(t, decodeFile(t, path))
			again := tracetest.Parse(t, once)
			if tracetest.Text(t, again) != once {
				t.Error("reading the text and writing it gives another text")
			}
		})
	}
}

// TestBothReplaysAgreeOnTheBeginning compares the blocks that were live before
// the first event, by replay in both directions.
func TestBothReplaysAgreeOnTheBeginning(t *testing.T) {
	traces := map[string]*trace.Trace{}
	for seed := range uint64(10) {
		traces[fmt.Sprint("seed ", seed)] = pytorchtest.Random(pytorchtest.Options{
			Seed: seed, Operations: 500, Ring: 300, Expandable: seed%2 == 0,
		})
	}
	for name, tr := range traces {
		t.Run(name, func(t *testing.T) { sameBeginning(t, tr) })
	}
	for _, path := range pytorchtest.SharedPickles(t) {
		if !trimmed(path) {
			t.Run(filepath.Base(path), func(t *testing.T) { sameBeginning(t, decodeFile(t, path)) })
		}
	}
}

func sameBeginning(t *testing.T, tr *trace.Trace) {
	t.Helper()
	for i := range tr.Devices {
		d := &tr.Devices[i]
		forward := trace.NewLifetimes()
		forward.Advance(d.Events)
		forward.Finish(&d.Final)
		held := map[uint64]int64{}
		for _, h := range forward.Held {
			held[h.Addr] = h.Size
		}
		base, _ := trace.Rewind(tr, d)
		live := map[uint64]int64{}
		for _, s := range base.Segments {
			for _, b := range s.Blocks {
				if b.State.Live() {
					live[b.Addr] = b.LiveRequested()
				}
			}
		}
		if diff := cmp.Diff(held, live); diff != "" {
			t.Errorf("device %d: live at the beginning (-forward +backward):\n%s", d.ID, diff)
		}
	}
}
