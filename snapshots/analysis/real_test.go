package analysis_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"memtop/snapshots/analysis"
	"memtop/snapshots/pytorch"
	"memtop/snapshots/pytorch/pytorchtest"
)

func TestMapsOfRealFilesAddUpAtEveryMoment(t *testing.T) {
	dir := pytorchtest.SharedFolder(t)
	for _, file := range expectedFiles(t, dir) {
		if file.File == "trimmed_by_hand.torch2.10.pickle" {
			continue // its final segments are not those of its events
		}
		t.Run(file.File, func(t *testing.T) {
			tr := open(t, filepath.Join(dir, file.File))
			x := analysis.NewIndex(tr, &tr.Devices[0])
			for at := -1; at <= x.End(); at += 1 + x.End()/150 {
				m := x.SegmentsAt(at)
				if m.Reserved != x.ReservedAt(at) || m.Requested != x.RequestedAt(at) || m.Outside != 0 {
					t.Fatalf("after event %d: the map has %d reserved, %d requested, %d outside; the levels are %d and %d",
						at, m.Reserved, m.Requested, m.Outside, x.ReservedAt(at), x.RequestedAt(at))
				}
			}
		})
	}
}

func TestRealFilesWrittenAgainDoNotDiffer(t *testing.T) {
	dir := pytorchtest.SharedFolder(t)
	for _, file := range expectedFiles(t, dir) {
		t.Run(file.File, func(t *testing.T) {
			tr := open(t, filepath.Join(dir, file.File))
			var text bytes.Buffer
			if err := pytorch.Write(&text, tr); err != nil {
				t.Fatal(err)
			}
			again, err := pytorch.Decode(t.Context(), &text, pytorch.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d := analysis.NewDiff(tr, again); !d.Empty() {
				var b bytes.Buffer
				_ = d.Text(&b, 100)
				t.Errorf("got\n%s", b.String())
			}
		})
	}
}
