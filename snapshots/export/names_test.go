package export_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/export"
	"github.com/memtop/memtop/snapshots/trace"
)

// calling returns a trace of one allocation below a function.
func calling(t *testing.T, file string, line int, function string) *trace.Trace {
	t.Helper()
	return tracetest.Parse(t, fmt.Sprintf("frame f %q %d %q\nstack s f\ndevice 0\nalloc 0x1000 512 stack=s\nalloc 0x2000 512 stack=s\n", file, line, function))
}

func TestFramesOfFoldedStacksBeginWithTheirFunction(t *testing.T) {
	tests := map[string]struct {
		file     string
		line     int
		function string
		want     string
	}{
		"Python":                         {"/home/u/model.py", 12, "forward", "forward (/home/u/model.py:12) 1024\n"},
		"C++ without a file":             {"??", 0, "at::empty(int)", "at::empty(int) 1024\n"},
		"C++ with a file but no line":    {"Allocator.cpp", 0, "c10::allocate", "c10::allocate 1024\n"},
		"a place without a function":     {"/home/u/model.py", 12, "", "/home/u/model.py:12 1024\n"},
		"a semicolon, which ends frames": {"/home/u/a;b.py", 3, "f;g", "f,g (/home/u/a,b.py:3) 1024\n"},
		"a line end":                     {"a.py", 3, "f\ng", "f\ufffdg (a.py:3) 1024\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := written(t, calling(t, test.file, test.line, test.function), "folded", export.Options{AllFrames: true})
			if string(got) != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestProfilesLeaveNamesOfCppToPprof checks both names of a function: pprof cuts a name where they are the same.
func TestProfilesLeaveNamesOfCppToPprof(t *testing.T) {
	const cpp = "at::(anonymous namespace)::add(at::Tensor const&, (anonymous namespace)::Options<int>)"
	tests := map[string]struct{ file, function, name, system string }{
		"C++":                                 {"??", cpp, cpp, cpp},
		"a method of Go with type parameters": {"/go/a.go", "p.(*T[...]).M", "p.(*T[...]).M", ""},
		"a module of Python":                  {"/home/u/train.py", "<module>", "train.<module>", "<module>"},
		"generated code of Python":            {"<string>", "<lambda>", "<lambda>", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := parse(t, written(t, calling(t, test.file, 3, test.function), "pprof", export.Options{AllFrames: true}))
			if f := p.Function[0]; f.Name != test.name || f.SystemName != test.system {
				t.Errorf("got %q, which the system calls %q, want %q and %q", f.Name, f.SystemName, test.name, test.system)
			}
		})
	}
}

// tagged is a trace of our own engine.
const tagged = `note w category="parameter" layer="h.0.mlp" role="weight" shape="[2, 3]" dtype="bf16"
note b category="parameter" layer="h.0.mlp" role="bias"
note s category="workspace" layer="h.1"
note a category="activation" layer="h.1" role="output"
frame f "model.go" 3 "forward"
frame g "train.go" 9 "main"
stack s f g
device 0
alloc 0x1000 512 note=w stack=s
alloc 0x2000 100 note=b stack=s
segment_alloc 0x0 4096
alloc 0x3000 700 note=s stack=s
retag 0x3000 700 note=a
free_completed 0x3000 700 note=a
`

func TestProfilesHaveTheTagsOfOurEngine(t *testing.T) {
	p := parse(t, written(t, tracetest.Parse(t, tagged), "pprof", export.Options{}))
	var got []string
	for _, s := range p.Sample {
		got = append(got, fmt.Sprint(s.Value[1], s.Label["category"], s.Label["layer"], s.Label["role"]))
	}
	want := []string{"700 [workspace] [h.1] []", "512 [parameter] [h.0.mlp] [weight]", "100 [parameter] [h.0.mlp] [bias]"}
	equal.Values(t, "samples differ", want, got)
}

func TestCSVHasStacksAndTags(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(written(t, tracetest.Parse(t, tagged), "csv", export.Options{}))).ReadAll()
	fatal.If(t, err)
	var got [][]string
	for _, row := range rows {
		got = append(got, append([]string{row[2]}, row[slices.Index(rows[0], "category"):]...))
	}
	const stack, site = "main (train.go:9);forward (model.go:3)", "model.go:3 forward"
	want := [][]string{
		{"action", "category", "live_after", "stack", "site", "layer", "role", "shape", "dtype", "label"},
		{"alloc", "parameter", "512", stack, site, "h.0.mlp", "weight", "[2, 3]", "bf16", ""},
		{"alloc", "parameter", "612", stack, site, "h.0.mlp", "bias", "", "", ""},
		{"segment_alloc", "", "612", "", "", "", "", "", "", ""},
		{"alloc", "workspace", "1312", stack, site, "h.1", "", "", "", ""},
		{"retag", "activation", "1312", stack, site, "h.1", "output", "", "", ""},
		{"free_completed", "activation", "612", stack, site, "h.1", "output", "", "", ""},
	}
	equal.Values(t, "rows differ", want, got)
}

// TestSnapshotsWithoutAHistorySaySo checks that the state at the end is written,
// and that the reader learns why there is no more.
func TestSnapshotsWithoutAHistorySaySo(t *testing.T) {
	state := *pytorchtest.TinyTraining()
	state.Devices = []trace.Device{{Final: state.Devices[0].Final}}
	entry := tracetest.Parse(t, "device 0\nfree_completed 0x0 512\nsegment 0x100000 2097152\n  block 0x100000 512 active_allocated requested=512\n")
	nothing := tracetest.Parse(t, "device 0\nalloc 0x0 512\nfree_completed 0x0 512\n")
	tests := map[string]struct {
		trace   *trace.Trace
		at      analysis.Moment
		notices string
		live    int64
	}{
		"blocks only":        {&state, analysis.Peak, "device 0: only its memory at the end is in the export; no history was recorded", 94445568},
		"one entry":          {entry, analysis.Peak, "device 0: only its memory at the end is in the export; no history was recorded", 512},
		"no device":          {tracetest.Parse(t, ""), analysis.Peak, "the snapshot has no device with memory or events, so nothing is in the export", 0},
		"an empty moment":    {nothing, analysis.End, "device 0: nothing is live at that moment, so nothing is in the export", 0},
		"a moment with some": {nothing, analysis.Peak, "", 512},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := export.Options{At: test.at}
			o.Index(test.trace)
			if got := strings.Join(formatNamed(t, "pprof").Notices(o), "\n"); got != test.notices {
				t.Errorf("got the notices %q, want %q", got, test.notices)
			}
			p := parse(t, written(t, test.trace, "pprof", o))
			var live int64
			for _, s := range p.Sample {
				live += s.Value[1]
			}
			if live != test.live {
				t.Errorf("%d bytes are in the profile, want %d", live, test.live)
			}
			for _, format := range []string{"pprof", "html", "perfetto"} {
				text := string(written(t, test.trace, format, o))
				if format == "pprof" {
					text = p.String()
				}
				if got := strings.Contains(text, "no history was recorded"); got != strings.Contains(test.notices, "no history") {
					t.Errorf("%s says that there is no history: %v", format, got)
				}
			}
		})
	}
}

// deepStack is a trace in text that has a stack s of 2,000 frames, and begins a device.
func deepStack() string {
	var text strings.Builder
	frames := make([]string, 2000)
	for i := range frames {
		frames[i] = fmt.Sprint("f", i)
		fmt.Fprintf(&text, "frame f%d \"%s.py\" %d \"été\"\n", i, strings.Repeat("long", 10), i+1)
	}
	fmt.Fprintf(&text, "stack s %s\ndevice 0\n", strings.Join(frames, " "))
	return text.String()
}

func TestCSVOfADeepStackThatManyShareIsBounded(t *testing.T) {
	const many = 12_000
	rows := strings.Repeat("alloc 0x1000 512 stack=s\nfree_completed 0x1000 512 stack=s\n", many/2)
	var out counted
	fatal.If(t, formatNamed(t, "csv").Write(&out, tracetest.Parse(t, deepStack()+rows), export.Options{}))
	if most := int64(300 << 20); out.n > most {
		t.Errorf("%d bytes, more than %d", out.n, most)
	}
}

func TestCellsOfCSVAreBounded(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(written(t, tracetest.Parse(t, deepStack()+"alloc 0x1000 512 stack=s\n"), "csv", export.Options{}))).ReadAll()
	fatal.If(t, err)
	stack := rows[1][slices.Index(rows[0], "stack")]
	if len(stack) > 32767 || len(stack) < 32000 || !utf8.ValidString(stack) ||
		!strings.HasPrefix(stack, "…") || !strings.HasSuffix(stack, ".py:1)") {
		t.Errorf("%d bytes: %.60q to %q", len(stack), stack, stack[max(0, len(stack)-60):])
	}
}
