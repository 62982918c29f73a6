package probetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

func TestAFolderInAClosedOneIsClosed(t *testing.T) {
	outer := t.TempDir()
	inner := filepath.Join(outer, "inner")
	fatal.If(t, os.Mkdir(inner, 0o755))
	fatal.If(t, os.Chmod(outer, 0o700))
	for folder, want := range map[string]string{"/": "", inner: outer} {
		if got := closedTo(folder); got != want && (want == "" || len(got) > len(want)) { // a folder above may be closed
			t.Errorf("%s is closed by %q, want %q", folder, got, want)
		}
	}
	if got := closedTo(filepath.Join("/", "no-such-folder")); got != "/no-such-folder" {
		t.Errorf("a folder that is not there is closed by %q", got)
	}
}
