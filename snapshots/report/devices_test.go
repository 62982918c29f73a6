package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
)

// pinnedText has 512 bytes of a device, and pinned memory of two lines: what kept
// leaves stays in use, what batch has is freed, cached and used again.
const pinnedText = `memtop-trace 1
frame kept "/home/user/train.py" 7 "keep"
frame batch "/home/user/train.py" 21 "batches"
stack kept kept
stack batch batch
device 0
alloc 0x100 512
pinned
segment_alloc 0x1000 1048576 stack=batch
alloc 0x1000 1048576 stack=batch
free_requested 0x1000 1048576
free_completed 0x1000 1048576
segment_alloc 0x200000 2097152 stack=kept
alloc 0x200000 2097152 stack=kept
alloc 0x1000 1048576 stack=batch
free_requested 0x1000 1048576
free_completed 0x1000 1048576
segment 0x1000 1048576 device=-1 allocated=0 active=0
block 0x1000 1048576 inactive
segment 0x200000 2097152 device=-1 allocated=2097152 active=2097152
block 0x200000 2097152 active_allocated requested=2097152 stack=kept
`

func TestPinnedMemoryHasItsOwnPart(t *testing.T) {
	tr := tracetest.Parse(t, pinnedText)
	r := New(tr)
	if got := r.Devices[0].PeakRequested; got != 512 || len(r.Devices) != 1 {
		t.Errorf("%d devices, the first with %d bytes: pinned memory is no device's", len(r.Devices), got)
	}
	text := pageOf(t, r, 80)
	_, got, _ := strings.Cut(text, "\nPinned")
	want := ` host memory: 9 events, 2 blocks

                  at start        peak      at end
  in use               0 B     3.0 MiB     2.0 MiB
  held                 0 B     3.0 MiB     3.0 MiB

  At its peak, by line (the 2 largest of 2), in blocks as PyTorch rounds them
    2.0 MiB  67%      1x train.py:7 keep
    1.0 MiB  33%      1x train.py:21 batches
`
	equal.Values(t, "the text", want, got)
	encoded, err := json.Marshal(r.Pinned)
	fatal.If(t, err)
	const numbers = `{"events":9,"blocks":2,"held_bytes":3145728,"in_use_bytes":2097152,"free_bytes":1048576,` +
		`"peak_held_bytes":3145728,"peak_in_use_bytes":3145728,"peak_event":6,"lines_at_peak":[` +
		`{"file":"/home/user/train.py","line":7,"function":"keep","bytes":2097152,"count":1},` +
		`{"file":"/home/user/train.py","line":21,"function":"batches","bytes":1048576,"count":1}]}`
	equal.Values(t, "the JSON", numbers, string(encoded))
}

func TestNoPinnedMemoryHasNoPart(t *testing.T) {
	for name, end := range map[string]string{"the file has no such keys": "", "nothing was recorded": "pinned\n"} {
		tr := tracetest.Parse(t, "memtop-trace 1\ndevice 0\nalloc 0x100 512\n"+end)
		if r := New(tr); r.Pinned != nil {
			t.Errorf("%s: %+v", name, r.Pinned)
		}
	}
}

// TestAReserveOfExpandableSegmentsIsNamed has a file of PyTorch 2.15: a request of
// more than the reserve, while the driver had much more.
func TestAReserveOfExpandableSegmentsIsNamed(t *testing.T) {
	text := pageOf(t, New(onfile.Trace(t, "../pytorch/testdata/reserve.torch2.15.pickle.gz")), 200)
	const want = "the driver had 69.3 GiB free: expandable_segments_reserve lets no segment have that much"
	if got := strings.Count(text, want); got != 2 {
		t.Errorf("%d sentences name it, want the finding and the account:\n%s", got, text)
	}
}

// TestThePeakIsInTheStepThatHoldsIt has three steps, of which the second needs 96 MiB,
// and an evaluation after them that needs more or less.
func TestThePeakIsInTheStepThatHoldsIt(t *testing.T) {
	const use = "alloc 0x10000000 %[1]d @%[2]d stack=act\nfree_completed 0x10000000 %[1]d @%[3]d\n"
	for evaluation, want := range map[int]int{32: 2, 128: 0} {
		text := tracetest.Steps(3, func(s int) string {
			return fmt.Sprintf(use+"alloc 0x100 512 @%[4]d stack=opt\nfree_completed 0x100 512 @%[5]d\n",
				(64+32*(s%2))<<20, s*1000+100, s*1000+200, s*1000+910, s*1000+920)
		})
		tr := tracetest.Parse(t, text+fmt.Sprintf(use, evaluation<<20, 3100, 3200))
		steps := stepsOf(analysis.NewIndex(tr, &tr.Devices[0]))
		var drawn strings.Builder
		p := newPage(&drawn, 200)
		steps.text(p)
		_ = p.w.Flush()
		if steps.PeakStep != want || strings.Contains(drawn.String(), "in no step") != (want == 0) {
			t.Errorf("evaluation of %d MiB: the peak is in step %d, want %d:\n%s", evaluation, steps.PeakStep, want, drawn.String())
		}
	}
}

// TestTheReportBeginsWithTheDeviceThatRanOut has a busy device before and after
// it, and one that ran out later.
func TestTheReportBeginsWithTheDeviceThatRanOut(t *testing.T) {
	busy := strings.Repeat("alloc 0x100 512 @1\nfree_completed 0x100 512 @2\n", 20)
	r := New(tracetest.Parse(t, "device 0\n"+busy+"device 1\noom 0 1024 @9\ndevice 2\noom 0 512 @3\nalloc 0x100 512 @4\noom 0 2048 @5\ndevice 3\n"+busy))
	text := pageOf(t, r, 100)
	var got []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Device ") || strings.HasPrefix(line, "  X ") {
			got = append(got, line[:min(len(line), 29)])
		}
	}
	want := []string{
		"Device 2: 3 events, 0 segment", "  X Out of memory at event 2:", "  X Out of memory at event 0:",
		"Device 1: 1 event, 0 segments", "  X Out of memory at event 0:", "Device 0: 40 events, 0 segmen", "Device 3: 40 events, 0 segmen",
	}
	equal.Values(t, "the result", want, got)
	for i := range r.Devices {
		if r.Devices[i].Device != i {
			t.Errorf("device %d stands at %d in JSON", r.Devices[i].Device, i)
		}
	}
}
