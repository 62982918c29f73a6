package program

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/protocol"
)

// TestARunWhoseBlackBoxIsCutShortGoesOn cuts the file, as a user who frees disk
// space might.
func TestARunWhoseBlackBoxIsCutShortGoesOn(t *testing.T) {
	folder := t.TempDir()
	fatal.If(t, os.Chmod(folder, 0o700))
	t.Setenv("MEMTOP_BLACK_BOX", folder)
	w := startWatched(t, "--layers", "1", "--dim", "16", "--heads", "2", "--seq", "8", "--batch", "2")
	w.until(2)
	boxes, err := filepath.Glob(filepath.Join(folder, "*.box"))
	if err != nil || len(boxes) != 1 {
		t.Fatalf("the run has the boxes %q, %v", boxes, err)
	}
	fatal.If(t, os.Truncate(boxes[0], 0))
	probetest.Eventually(t, "the run to give up its box", func() bool { _, err := os.Lstat(boxes[0]); return err != nil })
	w.until(w.steps() + 3)
	w.told = "memtrain: no black box: " + boxes[0] + " was cut short by another program; training without it, as with --black-box off\n"
	w.end()
}

// steps returns how many steps the run has taken.
func (w *watchedRun) steps() int64 {
	w.t.Helper()
	var info protocol.Info
	w.ask(http.MethodGet, "/v1/info", "", &info)
	return info.Step
}
