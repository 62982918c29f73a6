package tracetest_test

import (
	"bytes"
	"errors"
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

func writeText(t testing.TB, tr *trace.Trace) string {
	t.Helper()
	var b bytes.Buffer
	if err := tracetest.WriteText(&b, tr); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTextThatMeansEverything reads a file that uses every line and attribute
// of the text form, and writes the same bytes.
func TestTextThatMeansEverything(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "everything.txt"))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := tracetest.ParseText(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), writeText(t, tr)); diff != "" {
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
	for name, test := range map[string]struct{ text, want string }{
		"no text":                     {"", "line 1: the text is empty"},
		"another file":                {"hello", `line 1: the first line is not "memtop-trace 1"`},
		"a line of an unknown kind":   {"memtop-trace 1\n\nallocate 1 2", `line 3: "allocate" is not a kind of line`},
		"an event without a device":   {"memtop-trace 1\nalloc 1 2", "line 2: no device line comes before this one"},
		"a segment without a device":  {"memtop-trace 1\nsegment 1 2", "line 2: no device line comes before this one"},
		"a block without a segment":   {"memtop-trace 1\ndevice 0\nblock 1 2", "line 3: no segment line comes before this one"},
		"a tenant without a block":    {"memtop-trace 1\ndevice 0\nsegment 1 2\ntenant 1 2", "line 4: no block line comes before this one"},
		"a device twice":              {"memtop-trace 1\ndevice 1\ndevice 1", "line 3: device 1 comes after device 1"},
		"a size that is not a number": {"memtop-trace 1\ndevice 0\nalloc 1 big", `line 3: "big" is not a whole number of 64 bits`},
		"an address that is negative": {"memtop-trace 1\ndevice 0\nalloc -1 1", `line 3: "-1" is not an address`},
		"a missing size":              {"memtop-trace 1\ndevice 0\nalloc 1", `line 3: "" is not a whole number of 64 bits`},
		"an unknown attribute":        {"memtop-trace 1\ndevice 0\nalloc 1 2 colour=red", `line 3: "colour" does not belong here`},
		"an unknown stack":            {"memtop-trace 1\ndevice 0\nalloc 1 2 stack=s", `line 3: there is no stack "s" yet`},
		"an unknown note":             {"memtop-trace 1\ndevice 0\nalloc 1 2 note=n", `line 3: there is no note "n" yet`},
		"an unknown frame":            {"memtop-trace 1\nstack s f", `line 2: there is no frame "f" yet`},
		"a label twice":               {"memtop-trace 1\nstack s\nstack s", `line 3: the label "s" is taken`},
		"a label that is missing":     {"memtop-trace 1\nframe", "line 2: a label is missing"},
		"text without quotes":         {"memtop-trace 1\nnotice hello", `line 2: "hello" is not text in quotes`},
		"text that does not end":      {"memtop-trace 1\nnotice \"hello", "line 2: text in quotes does not end"},
		"text after the notice":       {"memtop-trace 1\nnotice \"a\" b", `line 2: "b" does not belong here`},
		"a block in no known state":   {"memtop-trace 1\ndevice 0\nsegment 1 2\nblock 1 2 busy", `line 4: "busy" does not belong here`},
		"a truth that is none":        {"memtop-trace 1\ndevice 0\nsegment 1 2 expandable=yes", `line 3: "yes" is neither true nor false`},
		"a pool of one number":        {"memtop-trace 1\ndevice 0\nsegment 1 2 pool=1", `line 3: "" is not a whole number of 64 bits`},
		"a setting without a value":   {"memtop-trace 1\nsetting \"a\"", `line 2: "" is not a value`},
		"a list that does not end":    {"memtop-trace 1\nsetting \"a\" [1", `line 2: no comma or ']'`},
		"a dict without a colon":      {"memtop-trace 1\nsetting \"a\" {\"b\" 1}", `line 2: no colon after "b"`},
		"values that are too deep":    {"memtop-trace 1\nsetting \"a\" " + strings.Repeat("[", 200), "line 2: nested more than 100 deep"},
		"a line that is too long":     {"memtop-trace 1\nnotice " + strings.Repeat("x", 17<<20), "line 2: longer than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tracetest.ParseText(strings.NewReader(test.text))
			var fault *tracetest.TextError
			if !errors.As(err, &fault) || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
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
	text := writeText(t, &trace.Trace{Tables: &tables, Settings: want})
	got, err := tracetest.ParseText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Settings, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestWhatTheTextFormCannotHoldIsAnError(t *testing.T) {
	deep := any("end")
	for range 200 {
		deep = []any{deep}
	}
	for name, value := range map[string]any{
		"a type that no setting has": struct{}{},
		"a value that is too deep":   deep,
		"a line that is too long":    strings.Repeat("x", 17<<20),
	} {
		t.Run(name, func(t *testing.T) {
			tables := trace.NewInterner().View()
			tr := &trace.Trace{Tables: &tables, Settings: []trace.Setting{{Key: "a", Value: value}}}
			if err := tracetest.WriteText(&bytes.Buffer{}, tr); err == nil {
				t.Error("it was written")
			}
		})
	}
}

// FuzzText feeds the reader any text. What it accepts, it must also accept as
// the writer writes it, and that text must not change any more; and whatever
// the trace, checking and rewinding it must end well.
func FuzzText(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(paths) == 0 {
		f.Fatal("there are no seeds")
	}
	for _, path := range paths {
		seed, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Add([]byte("memtop-trace 1\n" + whole))
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := tracetest.ParseText(bytes.NewReader(data))
		if err != nil {
			return
		}
		once := writeText(t, tr)
		again, err := tracetest.ParseText(strings.NewReader(once))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once)
		}
		if diff := cmp.Diff(once, writeText(t, again)); diff != "" {
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
