package mutate

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/trace"
)

// enough mutants have every change among them.
const enough = 500

// names returns every change that there is.
func names() []string {
	all := []string{
		"drop an opcode", "double an opcode", "repeat an opcode", "insert an opcode", "copy an opcode over", "replace an opcode", "change an argument",
		"drop a frame", "repeat a frame", "swap frames", "graft a frame", "append a stream", "change a frame's type",
	}
	for _, c := range treeChanges {
		all = append(all, c.name)
	}
	for _, c := range byteChanges {
		all = append(all, c.name)
	}
	return all
}

func TestMutantsHaveEveryChange(t *testing.T) {
	found := map[string]bool{}
	for n := range uint64(enough) {
		m := New(1, n)
		if bytes.Equal(m.Bytes, m.Original) {
			t.Errorf("file %d is its original, after %q", n, m.Changes)
		}
		for _, c := range m.Changes {
			if _, inFrame, ok := strings.Cut(c, ": "); ok {
				c = inFrame
			}
			found[strings.TrimPrefix(c, "outer ")] = true
		}
	}
	for _, name := range names() {
		if !found[name] {
			t.Errorf("none of %d files has the change %q", enough, name)
		}
		delete(found, name)
	}
	if len(found) > 0 {
		t.Errorf("changes that the test does not know: %v", found)
	}
}

func TestTheSameSeedGivesTheSameFile(t *testing.T) {
	for n := range uint64(20) {
		a, b := New(7, n), New(7, n)
		if !bytes.Equal(a.Bytes, b.Bytes) || !bytes.Equal(a.Original, b.Original) || !slices.Equal(a.Changes, b.Changes) {
			t.Errorf("file %d is made in two ways: %q and %q", n, a.Changes, b.Changes)
		}
	}
}

// TestOriginalsAreWholeAndManyMutantsCanBeRead holds the mutants to being close
// to files that make sense: one that is refused at once tries nothing.
func TestOriginalsAreWholeAndManyMutantsCanBeRead(t *testing.T) {
	const count = 100
	read := 0
	for n := range uint64(count) {
		m := New(1, n)
		if source, err := open(t, m.Original); err != nil {
			t.Errorf("the original of file %d, %s: %v", n, m.Name, err)
		} else if info := source.Trace().Info; info.Truncated {
			t.Errorf("the original of file %d, %s, ends early", n, m.Name)
		}
		if _, err := open(t, m.Bytes); err == nil {
			read++
		}
	}
	if read < count*4/10 || read > count*8/10 {
		t.Errorf("%d of %d files can be read, want between four and eight of ten", read, count)
	}
}

func open(t *testing.T, content []byte) (trace.Source, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return snapshots.Open(t.Context(), path, snapshots.Options{MaxMemory: 64 << 20})
}
