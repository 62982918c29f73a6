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
			found := tracetest.Check(tr)
			if trimmed(path) {
				if found.Count == 0 {
					t.Error("no problem found in a file that was trimmed by hand")
				}
				return
			}
			for i := range tr.Devices {
				base, _ := trace.Rewind(tr, &tr.Devices[i])
				start := *tr
				start.Devices = []trace.Device{{ID: tr.Devices[i].ID, Final: base}}
				found.First = append(found.First, tracetest.Check(&start).First...)
			}
			for _, p := range found.First {
				t.Error(p)
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
