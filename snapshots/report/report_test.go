package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/difference"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/google/go-cmp/cmp"
)

// pageOf returns a report as text.
func pageOf(t *testing.T, report interface {
	Text(w io.Writer, width int) error
}, width int,
) string {
	t.Helper()
	var text strings.Builder
	fatal.If(t, report.Text(&text, width))
	return text.String()
}

func wantIn(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// reportKeys are the keys of the report in the order of its definition.
const reportKeys = "schema source path kind container pickle_protocol bytes writer annotations devices " +
	"device segments blocks reserved_bytes allocated_bytes active_bytes requested_bytes free_bytes largest_free_block_bytes " +
	"events actions alloc initial_requested_bytes final_requested_bytes peak_requested_bytes peak_event " +
	"initial_reserved_bytes peak_reserved_bytes peak_stacks peak_largest_stack_bytes distinct_stacks " +
	"oom pools id segments reserved_bytes active_bytes " +
	"small segments reserved_bytes active_bytes requested_bytes inactive_split_bytes releasable_bytes " +
	"large segments reserved_bytes active_bytes requested_bytes inactive_split_bytes releasable_bytes " +
	"categories_at_peak parameter gradient optimizer activation backward-temporary input kv-cache workspace inference gathered-parameter communication other guessed " +
	"category_rules_at_peak category rule evidence bytes count labels_at_peak gathered_at_peak top_stacks_at_peak bytes count frames lines_at_peak file line function bytes count steps " +
	"findings kind severity bytes saving_bytes confidence text evidence remedy event where " +
	"kind severity bytes saving_bytes confidence text evidence remedy event where " + // there are two
	"measures peak requested_bytes event sites bytes count bytes_per_step frames steps_marked growth host " +
	"compared device step step_ns allocated_bytes reserved_bytes peak_allocated_bytes peak_reserved_bytes measured capacity_bytes others_bytes settings " +
	"growth_bytes_per_step out_of_memory failed_at_us " +
	"categories_at_peak parameter gradient optimizer activation backward-temporary input kv-cache workspace inference gathered-parameter communication other"

func TestReportHasTheKeysOfItsSchemaInOrder(t *testing.T) {
	tr := tracetest.Parse(t, tracetest.Frames+`
info kind="snapshot" container="pickle" protocol=4 bytes=10 writer="test" path="x.pickle"
device 0
alloc 0x100000 512 stack=act
segment 0x100000 2097152 type="small"
block 0x100000 512 active_allocated requested=512 stack=act
block 0x100200 2096640 inactive
`)
	text, err := json.Marshal(New(tr))
	fatal.If(t, err)
	var keys []string
	for _, match := range regexp.MustCompile(`"([a-z_0-9-]+)":`).FindAllSubmatch(text, -1) {
		keys = append(keys, string(match[1]))
	}
	if got := strings.Join(keys, " "); got != reportKeys {
		t.Errorf("got\n%s\nwant\n%s", got, reportKeys)
	}
}

// TestAReportIsNotMultipliedByAName is about a file that has a name of a megabyte
// once, and stacks that have it often.
func TestAReportIsNotMultipliedByAName(t *testing.T) {
	tr := pytorchtest.Random(pytorchtest.Options{Seed: 3, Operations: 300})
	for i := range tr.Tables.Frames {
		tr.Tables.Frames[i].Name = trace.StringID(len(tr.Tables.Strings))
	}
	tr.Tables.Strings = append(tr.Tables.Strings, strings.Repeat("x", 1<<20))
	for name, value := range map[string]any{"report": New(tr), "diff": NewDiff(tr, pytorchtest.Random(pytorchtest.Options{Seed: 4}))} {
		text, err := json.Marshal(value)
		fatal.If(t, err)
		if len(text) > 2<<20 {
			t.Errorf("the %s has %d bytes, more than twice the name", name, len(text))
		}
	}
}

func TestTopStacksLeaveOutWhatNobodyKnows(t *testing.T) {
	tr := tracetest.Parse(t, tracetest.Frames+`
device 0
alloc 0x100000 1024 stack=act
alloc 0x100400 512
free_requested 0x100600 4096 stack=main
free_completed 0x100600 4096 stack=main
segment 0x100000 2097152 type="small"
block 0x100000 1024 active_allocated requested=1024 stack=act
block 0x100400 512 active_allocated requested=512
block 0x100600 4096 inactive
block 0x101600 2048 active_allocated requested=2048 stack=opt
block 0x101e00 2089472 inactive
`)
	d := New(tr).Devices[0]
	if d.PeakEvent != 1 || d.PeakRequested != 7680 || d.PeakStacks != 2 || d.PeakLargestStackBytes != 1024 {
		t.Errorf("got peak %d at %d, %d stacks, the largest %d", d.PeakRequested, d.PeakEvent, d.PeakStacks, d.PeakLargestStackBytes)
	}
	var got []string
	for _, s := range d.TopStacksAtPeak {
		got = append(got, fmt.Sprint(s.Bytes, len(s.Frames)))
	}
	if want := "2048 4, 1024 4, 512 0"; strings.Join(got, ", ") != want {
		t.Errorf("top stacks: got %v, want %s", got, want)
	}
}

func TestTextIsNeverWiderThanAsked(t *testing.T) {
	tr := pytorchtest.Random(pytorchtest.Options{Seed: 5, Devices: 2, Operations: 400})
	other := pytorchtest.Random(pytorchtest.Options{Seed: 6, Devices: 1, Operations: 400})
	tr.Info.Path = strings.Repeat("very long name 名前 ", 10)
	tr.Notices = []string{"a \x1b[31mred\x1b[0m notice " + strings.Repeat("that goes on ", 20)}
	for _, width := range []int{40, 60, 80, 200} {
		var b bytes.Buffer
		fatal.If(t, New(tr).Text(&b, width))
		fatal.If(t, NewDiff(tr, other).Text(&b, width))
		if strings.ContainsRune(b.String(), '\x1b') {
			t.Error("an escape sequence of the file reaches the terminal")
		}
		for line := range strings.Lines(b.String()) {
			if got := cells(strings.TrimSuffix(line, "\n")); got > width {
				t.Errorf("width %d: a line of %d cells: %q", width, got, line)
			}
		}
	}
}

func TestDiffSaysWhatBecameOfStacks(t *testing.T) {
	const before = tracetest.Frames + `
device 0
alloc 0x100000 1024 stack=act
alloc 0x100400 512 stack=opt
segment 0x100000 2097152 type="small"
block 0x100000 1024 active_allocated requested=1024 stack=act
block 0x100400 512 active_allocated requested=512 stack=opt
block 0x100600 2095616 inactive
`
	const after = tracetest.Frames + `
device 0
alloc 0x100000 4096 stack=act
alloc 0x101000 2048 stack=data
segment 0x100000 2097152 type="small"
block 0x100000 4096 active_allocated requested=4096 stack=act
block 0x101000 2048 active_allocated requested=2048 stack=data
block 0x101800 2091008 inactive
segment 0x700000 2097152 type="small"
block 0x700000 2097152 inactive
device 1
alloc 0x900000 512
`
	d := NewDiff(tracetest.Parse(t, before), tracetest.Parse(t, after))
	if d.Empty() || len(d.Devices) != 2 || d.Devices[1].Only == nil || *d.Devices[1].Only != Appeared {
		t.Fatalf("got %+v, want two devices of which the second appeared", d)
	}
	var got []string
	for _, s := range d.Devices[0].Stacks {
		got = append(got, fmt.Sprintf("%s %s %+d", s.Change, s.Name, s.Delta()))
	}
	want := []string{"grew model.py:20 forward +3072", "appeared train.py:10 main +2048", "vanished train.py:10 main -512"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("stacks: got %v, want %v", got, want)
	}
	if s := d.Devices[0].Segments; len(s) != 1 || s[0].Change != Appeared || s[0].Addr != 0x700000 {
		t.Errorf("segments: got %+v", s)
	}
	if d.Devices[0].FirstEvent != 0 {
		t.Errorf("the first different event: got %d, want 0", d.Devices[0].FirstEvent)
	}
}

func TestMomentsOfOneTraceAreCompared(t *testing.T) {
	x := indexOf(t, tracetest.Frames+`
device 0
alloc 0x100000 1024 stack=act
alloc 0x100400 512 stack=opt
free_requested 0x100000 1024
free_completed 0x100000 1024
segment 0x100000 2097152 type="small"
block 0x100000 1024 inactive
block 0x100400 512 active_allocated requested=512 stack=opt
block 0x100600 2095616 inactive
`)
	merged := difference.Merge(x.Trace().Tables, x.Trace().Tables)
	d := diffMoments(merged, x, 0, x, 3)
	if len(d.Stacks) != 2 || d.Stacks[0].Change != Vanished || d.Stacks[1].Change != Appeared {
		t.Errorf("got %+v, want the layer's memory gone and the optimizer's there", d.Stacks)
	}
	if same := diffMoments(merged, x, 2, x, 2); !same.Empty() {
		t.Errorf("a moment and itself: got %+v", same)
	}
}

// TestAReportSaysWhatWouldHaveFit hands in the answer of a replay: a setting that is
// certain to have met the request, and one that is not.
func TestAReportSaysWhatWouldHaveFit(t *testing.T) {
	tr := tracetest.Parse(t, tracetest.Frames+`
device 0
segment_alloc 0x10000000 33554432
alloc 0x10000000 31457280 stack=opt
oom 18874368 33554432 stack=main
segment 0x10000000 33554432 type="large"
block 0x10000000 31457280 active_allocated requested=31457280 stack=opt
block 0x11e00000 2097152 inactive
`)
	r := New(tr)
	answer := &whatif.Answer{
		Recorded: whatif.Recorded{OOM: &whatif.OOM{Reserved: 32 << 20, Segment: 32 << 20}},
		Again:    &whatif.Run{},
		Runs: []whatif.Run{
			{Settings: "a:1", Fits: false, Reserved: 1 << 20},
			{Settings: "b:1", Fits: true, Reserved: 40 << 20},
		},
	}
	ask := func(context.Context, whatif.Question) (*whatif.Answer, error) { return answer, nil }
	fatal.If(t, r.Replay(t.Context(), ask))
	o := r.Devices[0].OOM[0]
	// Of 30 MiB of an optimizer's state half is more than 14 MiB.
	want := []analysis.Change{
		{Text: "PYTORCH_CUDA_ALLOC_CONF=b:1", Saving: 24 << 20, Basis: analysis.Replayed},
		{Text: "an 8-bit optimizer", Saving: 15 << 20, Basis: analysis.Estimated},
	}
	if diff := cmp.Diff(want, o.WouldFit); diff != "" || o.ShortBytes == nil || *o.ShortBytes != 14<<20 || o.Requester[len(o.Requester)-1] != "/home/me/train.py:10 main" {
		t.Errorf("short by %v, requested by %v; changes, -want +got:\n%s", o.ShortBytes, o.Requester, diff)
	}
	text := pageOf(t, r, 100)
	wantIn(t, text,
		"asked      32.0 MiB by train.py:10 main", "short by   14.0 MiB: the driver had 18.0 MiB", "would fit  PYTORCH_CUDA_ALLOC_CONF=b:1: 24.0 MiB, replayed",
	)
	answer.Again.Fits = true // under the recorded settings too: it is not the settings' doing
	r = New(tr)
	if err := r.Replay(t.Context(), ask); err != nil || len(r.Devices[0].OOM[0].WouldFit) != 1 {
		t.Errorf("%v, %v: want the optimizer alone", err, r.Devices[0].OOM[0].WouldFit)
	}
}

func TestDiffWritesListsNeverNull(t *testing.T) {
	a := tracetest.Parse(t, "device 0\nalloc 0x100 512\ndevice 1\nalloc 0x100 512\n")
	b := tracetest.Parse(t, "device 0\nalloc 0x100 512\ndevice 2\nalloc 0x100 1024\n")
	at, err := NewDiffAt(a, analysis.End, b, analysis.End)
	fatal.If(t, err)
	for _, d := range []*Diff{NewDiff(a, b), at} {
		if text, err := json.Marshal(d); err != nil || bytes.Contains(text, []byte("null")) {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// TestOnlyTheLastFailureIsAccounted has three requests fail, for each of which an 8-bit
// optimizer would have made room.
func TestOnlyTheLastFailureIsAccounted(t *testing.T) {
	failures := New(tracetest.Parse(t, tracetest.Frames+`device 0
segment_alloc 0x10000000 33554432
alloc 0x10000000 31457280 stack=opt
`+strings.Repeat("oom 18874368 33554432 stack=main\n", 3)+`segment 0x10000000 33554432 type="large"
block 0x10000000 31457280 active_allocated requested=31457280 stack=opt
block 0x11e00000 2097152 inactive
`)).Devices[0].OOM
	for k, o := range failures {
		if last := k == 2; len(o.WouldFit) != map[bool]int{true: 1}[last] || o.ShortBytes == nil || *o.ShortBytes != 14<<20 {
			t.Errorf("failure %d: short by %v, would fit with %v", k, o.ShortBytes, o.WouldFit)
		}
	}
}
