package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/reopen"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

const keptFile = "testdata/tiny_training.pickle"

// loadKept loads a file as a screen does, with a cache for files of any size, and waits
// until what is kept of it is there.
func loadKept(t *testing.T, most int64) trace.Source {
	t.Helper()
	a := newApp(&bytes.Buffer{}, &bytes.Buffer{})
	a.settings.indexes = 1 // not 0
	o := a.reopening(t.Context())
	if o.cache == nil {
		t.Fatal("there is no cache")
	}
	o.cache.From, o.cache.Most = 0, most
	s, err := o.load(t.Context(), keptFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.(*reopen.Source).Index(s.Trace().Devices[0].ID)
	o.wait.Wait()
	o.stop()
	return s
}

func reportText(t *testing.T, s trace.Source) []byte {
	t.Helper()
	text, err := json.Marshal(report.New(s.Trace()))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAFileThatWasOnTheScreenIsNotDecodedAgain(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	decoded := loadKept(t, 1<<30)
	again, ok := loadKept(t, 1<<30).(*reopen.Source)
	if !ok || again.Made.IsZero() {
		t.Fatal("it was decoded again")
	}
	if a, b := reportText(t, decoded), reportText(t, again); !bytes.Equal(a, b) {
		t.Errorf("the report was\n%s\nand is\n%s", a, b)
	}
	entries, err := filepath.Glob(filepath.Join(indexesPath(), "*"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("kept are %q, %v", entries, err)
	}
	if text := indexesText(); !strings.Contains(text, "1 files") {
		t.Errorf("info says %q", text)
	}
	if err := os.Chmod(indexesPath(), 0o755); err != nil {
		t.Fatal(err)
	}
	if s := loadKept(t, 1<<30).(*reopen.Source); !s.Made.IsZero() {
		t.Error("an entry in a folder that is open to others was used")
	}
	if text := indexesText(); !strings.Contains(text, "not used") {
		t.Errorf("info says %q", text)
	}
}

func TestNothingIsKeptWithoutACache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	a := newApp(&bytes.Buffer{}, &bytes.Buffer{})
	a.settings.indexes = 0
	o := a.reopening(t.Context())
	if _, err := o.load(t.Context(), keptFile, nil); err != nil {
		t.Fatal(err)
	}
	o.stop()
	if left, err := os.ReadDir(os.Getenv("XDG_CACHE_HOME")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
