package tracetest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/google/go-cmp/cmp"
)

// TestTextThatMeansEverything reads a file that uses every line and attribute
// of the text form, and writes the same bytes.
func TestTextThatMeansEverything(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "everything.txt"))
	fatal.If(t, err)
	if diff := cmp.Diff(string(want), tracetest.Text(t, tracetest.Parse(t, string(want)))); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
}

// FuzzText feeds the reader any text. What it accepts, it must also accept as
// the writer writes it, and that text must not change any more; and whatever
// the trace, checking and rewinding it must end well.
func FuzzText(f *testing.F) {
	seed, err := os.ReadFile(filepath.Join("testdata", "everything.txt"))
	fatal.If(f, err)
	f.Add(seed)
	f.Add([]byte("memtop-trace 1\n" + whole))
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := tracetest.ParseText(bytes.NewReader(data))
		if err != nil {
			return
		}
		once := tracetest.Text(t, tr)
		again, err := tracetest.ParseText(strings.NewReader(once))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once)
		}
		if diff := cmp.Diff(once, tracetest.Text(t, again)); diff != "" {
			t.Fatalf("the text changes (-once +again):\n%s", diff)
		}
		tracetest.Check(tr)
		for i := range tr.Devices {
			d := &tr.Devices[i]
			trace.Rewind(tr, d)
			lives := trace.NewLifetimes()
			lives.Advance(d.Events)
			lives.Finish(&d.Final)
		}
	})
}
