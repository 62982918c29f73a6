// Package onfile opens files for tests as users' commands do.
package onfile

import (
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/trace"
)

// Trace returns what a file holds.
func Trace(tb testing.TB, path string) *trace.Trace {
	tb.Helper()
	source, err := snapshots.Open(tb.Context(), path, snapshots.Options{})
	fatal.If(tb, err)
	fatal.If(tb, source.Close())
	return source.Trace()
}

// Shared runs a test for each of the real files of PyTorch, by its name.
func Shared(t *testing.T, test func(t *testing.T, name string, tr *trace.Trace)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pytorchtest.SharedFolder(t), "*.torch*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { test(t, filepath.Base(file), Trace(t, file)) })
	}
}
