package tracetest_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestTextThatMeansEverything reads a file that uses every line and attribute
// of the text form, and writes the same bytes.
func TestTextThatMeansEverything(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "everything.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), tracetest.Text(t, tracetest.Parse(t, string(want)))); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
}

func TestTextIsForPeople(t *testing.T) {
	tr := tracetest.Parse(t, `
	# a comment, and blank lines

	frame forward "model.py" 0x2A "forward"   op="call_module"
	stack leaf forward forward
	note tagged category="parameter"
	device 1
	  alloc 4096 1_000 stack=leaf note=tagged stream=3
	  oom - -
`)
	d := tr.Device(1)
	if d == nil || d.Events.Len() != 2 {
		t.Fatalf("device %+v, want one with two events", d)
	}
	alloc, oom := d.Events.At(0), d.Events.At(1)
	want := trace.Event{
		Kind: trace.Alloc, Addr: 4096, Size: 1000, Absent: trace.NoTime,
		Stack: alloc.Stack, Note: alloc.Note, Stream: alloc.Stream,
	}
	if diff := cmp.Diff(want, *alloc); diff != "" {
		t.Errorf("the allocation (-want +got):\n%s", diff)
	}
	if got := tr.Tables.Stream(alloc.Stream); got != 3 {
		t.Errorf("stream %d, want 3", got)
	}
	if got := len(tr.Tables.Stack(alloc.Stack)); got != 2 {
		t.Errorf("a stack of %d frames, want 2", got)
	}
	if want := trace.NoAddr | trace.NoSize | trace.NoTime; oom.Absent != want {
		t.Errorf("the oom lacks %b, want %b", oom.Absent, want)
	}
}

func TestTextFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "line 0: the text is empty",
		"hello":                                 `line 1: the first line is not "memtop-trace 1"`,
		"memtop-trace 1\n\nallocate 1 2":        `line 3: "allocate" is not a kind of line`,
		"memtop-trace 1\nalloc 1 2":             "line 2: no device line comes before this one",
		"memtop-trace 1\ndevice 0\nblock 1 2":   "line 3: no segment line comes before this one",
		"memtop-trace 1\ndevice 1\ndevice 1":    "line 3: device 1 comes after device 1",
		"memtop-trace 1\ndevice 0\nalloc 1 big": `line 3: "big" is not a whole number of 64 bits`,
		"memtop-trace 1\ndevice 0\nalloc 1 2 colour=red":      `line 3: "colour" does not belong here`,
		"memtop-trace 1\ndevice 0\nalloc 1 2 stack=s":         `line 3: there is no stack "s" yet`,
		"memtop-trace 1\nnotice \"hello":                      "line 2: text in quotes does not end",
		"memtop-trace 1\nnotice \"a\" b":                      `line 2: "b" does not belong here`,
		"memtop-trace 1\ndevice 0\nsegment 1 2\nblock 1 2 no": `line 4: "no" does not belong here`,
		"memtop-trace 1\nsetting \"a\" {\"b\" 1}":             `line 2: "1}" does not begin with ':'`,
	} {
		if _, err := tracetest.ParseText(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

func TestSettingsKeepTheirTypes(t *testing.T) {
	want := []trace.Setting{
		{Key: "nothing"},
		{Key: "truth", Value: true},
		{Key: "integer", Value: int64(-1)},
		{Key: "address", Value: uint64(math.MaxUint64)},
		{Key: "whole float", Value: 3.0},
		{Key: "small float", Value: 1e-300},
		{Key: "not a number", Value: math.NaN()},
		{Key: "infinite", Value: math.Inf(1)},
		{Key: "minus infinite", Value: math.Inf(-1)},
		{Key: "text \"quoted\"", Value: "line\nbreak, \xff and , ] }"},
		{Key: "empty list", Value: []any{}},
		{Key: "list", Value: []any{int64(1), "two", []any{nil}}},
		{Key: "empty dict", Value: []trace.Setting{}},
		{Key: "dict", Value: []trace.Setting{{Key: "1", Value: int64(0)}, {Key: "", Value: []any{false}}}},
	}
	tables := trace.NewInterner().View()
	got := tracetest.Parse(t, tracetest.Text(t, &trace.Trace{Tables: &tables, Settings: want}))
	if diff := cmp.Diff(want, got.Settings, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

// FuzzText feeds the reader any text. What it accepts, it must also accept as
// the writer writes it, and that text must not change any more; and whatever
// the trace, checking and rewinding it must end well.
func FuzzText(f *testing.F) {
	seed, err := os.ReadFile(filepath.Join("testdata", "everything.txt"))
	if err != nil {
		f.Fatal(err)
	}
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
