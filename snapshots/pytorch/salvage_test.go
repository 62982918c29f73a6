package pytorch

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
)

// TestNoEntryReadIsLostWhenAFileIsCut cuts real files at many places: every
// trace entry that was read whole is in the result.
func TestNoEntryReadIsLostWhenAFileIsCut(t *testing.T) {
	folder := pytorchtest.SharedFolder(t)
	for _, name := range []string{"trimmed_by_hand.torch2.10.pickle", "python_frames_only.torch2.10.pickle"} {
		t.Run(name, func(t *testing.T) {
			pickle, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Skip("the real snapshots are not here: ", err)
			}
			for n := 100; n < len(pickle)-1; n += 4_001 {
				checkSalvaged(t, pickle[:n])
			}
		})
	}
}

func checkSalvaged(t *testing.T, cut []byte) {
	t.Helper()
	m := newMachine(context.Background(), bytes.NewReader(cut), Options{Total: int64(len(cut))})
	if err := m.run(); !errors.Is(err, errTruncated) {
		t.Fatalf("cut at %d: %v", len(cut), err)
	}
	if err := m.salvage(); err != nil {
		t.Fatalf("cut at %d: salvaging: %v", len(cut), err)
	}
	tr, err := m.finish()
	if err != nil {
		t.Fatalf("cut at %d: finishing: %v", len(cut), err)
	}
	events, segments := 0, 0
	for i := range tr.Devices {
		events += tr.Devices[i].Events.Len()
		segments += len(tr.Devices[i].Final.Segments)
	}
	if events != m.log.Len() || segments != m.segments.len() {
		t.Errorf("cut at %d: %d of %d entries and %d of %d segments are in the result",
			len(cut), events, m.log.Len(), segments, m.segments.len())
	}
}
