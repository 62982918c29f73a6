package pytorchtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
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
