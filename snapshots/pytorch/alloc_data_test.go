package pytorch_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// The plot of four allocations: 0 was there before and is freed, 1 stays live, 2
// is freed, 3 was there before and stays live.
const plot20 = `{"actions": [1, 2, 0, 2], "elements": [
 {"size": 1000, "info": 2}, {"size": 512, "info": 3}, {"size": 1000, "info": 5}, {"size": 1, "info": null}],
 "suffix_table": [[0, null], [1, 0], [2, 1], [3, 0], [4, 0], [5, 4]],
 "string_table": ["/app/train.py:10:main", "alloc not recorded, stack trace for free:", "1000.0B allocation",
   "512.0B allocation", "C:\\app\\model.py:7:at::empty", "1000.0B allocation (gradient)"],
 "initially_allocated": [3, 0]};
function process_alloc_data() {}`

const plot20Trace = `memtop-trace 1
frame f1 "/app/train.py" 10 "main"
frame f2 "C:\\app\\model.py" 7 "at::empty"
stack s1 f1
stack s2 f2 f1
note n1 category="gradient"
device 0
alloc 0x100000000600 512 stream=- stack=s1
alloc 0x100000000800 1000 stream=- stack=s2 note=n1
free_completed 0x100000000200 1000 stream=- stack=s1
free_completed 0x100000000800 1000 stream=- stack=s2 note=n1
segment 0x100000000000 3072
block 0x100000000000 512 active_allocated requested=1
block 0x100000000200 1024 inactive
block 0x100000000600 512 active_allocated requested=512 stack=s1
block 0x100000000800 1024 inactive
`

func TestAnOldPlotBecomesATrace(t *testing.T) {
	got, err := pytorch.DecodeAllocData(t.Context(), strings.NewReader(plot20), pytorch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := tracetest.Parse(t, plot20Trace)
	if diff := cmp.Diff(contents(t, want), contents(t, got)); diff != "" {
		t.Errorf("not the trace that was wanted (-want +got):\n%s", diff)
	}
	if len(got.Notices) != 1 {
		t.Errorf("the notices are %q, want the one that says what is made up", got.Notices)
	}
	if problems := tracetest.Check(got); problems.Count > 0 {
		t.Errorf("the trace is not consistent: %v", problems.First)
	}
}

func TestAPlotInColumnsNamesCategories(t *testing.T) {
	const text = `{"actions": [0, 1, 0], "elements_size": [512, 2048], "elements_info": [0, 1],
 "elements_category": [1, 0], "categories": ["unknown", "parameter"], "initially_allocated": [],
 "suffix_table": [[0, null], [1, null]], "string_table": ["b7f00_0 512.0B allocation (512 bytes)", "2.0KiB allocation"]}`
	got, err := pytorch.DecodeAllocData(t.Context(), strings.NewReader(text), pytorch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var categories []string
	for i := range got.Devices[0].Events.Len() {
		note := got.Devices[0].Events.At(i).Note
		categories = append(categories, got.Tables.String(got.Tables.Notes[note].Category))
	}
	if diff := cmp.Diff([]string{"parameter", "unknown", "parameter"}, categories); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
}

func TestAPlotOfSegmentsChangesReservedMemory(t *testing.T) {
	const text = `{"actions": [0, 1, 0], "elements_size": [2097152, 4194304], "elements_info": [0, 0],
 "initially_allocated": [], "suffix_table": [[0, null]], "string_table": ["s7f00_0 2.0MiB allocation (2097152 bytes)"]}`
	got, err := pytorch.DecodeAllocData(t.Context(), strings.NewReader(text), pytorch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	device := got.Devices[0]
	if kind := device.Events.At(2).Kind; kind != trace.SegmentFree {
		t.Errorf("the last event is a %v, want a segment_free", kind)
	}
	if n := len(device.Final.Segments); n != 1 || device.Final.Segments[0].Size != 4194304 {
		t.Errorf("%d segments are left, want the one of 4 MiB", n)
	}
}

func TestADamagedPlotIsRefused(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"an element that is not there": {`{"actions": [1], "elements": [{"size": 1, "info": null}]}`, "element"},
		"a text that is not there":     {`{"elements": [{"size": 1, "info": 3}]}`, "text"},
		"a text without an end":        {`{"suffix_table": [[0, 0]], "string_table": ["a"]}`, "out of range"},
		"a size below zero":            {`{"elements": [{"size": -1, "info": null}]}`, "size"},
		"columns of two lengths":       {`{"elements_size": [1, 2], "elements_info": [null]}`, "length"},
		"a list that is none":          {`{"actions": 7}`, "list"},
		"a string for a number":        {`{"actions": ["x"]}`, "integer"},
		"an end that is missing":       {plot20[:200], "ends within"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := pytorch.DecodeAllocData(t.Context(), strings.NewReader(test.text), pytorch.Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error that says %q", err, test.want)
			}
		})
	}
}

func FuzzDecodeAllocData(f *testing.F) {
	f.Add([]byte(plot20))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := pytorch.DecodeAllocData(t.Context(), bytes.NewReader(text), pytorch.Options{Bound: trace.FixedBound(64 << 20)})
		if err == nil {
			tracetest.Check(got)
		}
	})
}
