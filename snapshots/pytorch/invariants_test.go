package pytorch_test

import (
	"path/filepath"
	"strings"
	"testing"

	"memtop/snapshots/pytorch/pytorchtest"
	"memtop/snapshots/trace"
)

// trimmed reports whether somebody took events or segments out of a file, so
// that its parts contradict each other.
func trimmed(path string) bool { return strings.HasPrefix(filepath.Base(path), "trimmed_by_hand") }

func TestRealFilesKeepTheAllocatorsRules(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			tr := decodeFile(t, path)
			got := trace.Check(tr)
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
				for _, p := range trace.Check(&start).First {
					t.Error("in the base state: ", p)
				}
			}
		})
	}
}

func TestRealFilesKeepTheirMeaningAsText(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			once := text(t, decodeFile(t, path))
			again, err := trace.ParseText(strings.NewReader(once))
			if err != nil {
				t.Fatal(err)
			}
			if text(t, again) != once {
				t.Error("reading the text and writing it gives another text")
			}
		})
	}
}
