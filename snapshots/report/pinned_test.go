package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots"
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
	tr, err := tracetest.ParseText(strings.NewReader(pinnedText))
	fatal.If(t, err)
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the text (-want +got):\n%s", diff)
	}
	encoded, err := json.Marshal(r.Pinned)
	fatal.If(t, err)
	const numbers = `{"events":9,"blocks":2,"held_bytes":3145728,"in_use_bytes":2097152,"free_bytes":1048576,` +
		`"peak_held_bytes":3145728,"peak_in_use_bytes":3145728,"peak_event":6,"lines_at_peak":[` +
		`{"file":"/home/user/train.py","line":7,"function":"keep","bytes":2097152,"count":1},` +
		`{"file":"/home/user/train.py","line":21,"function":"batches","bytes":1048576,"count":1}]}`
	if diff := cmp.Diff(numbers, string(encoded)); diff != "" {
		t.Errorf("the JSON (-want +got):\n%s", diff)
	}
}

func TestNoPinnedMemoryHasNoPart(t *testing.T) {
	for name, end := range map[string]string{"the file has no such keys": "", "nothing was recorded": "pinned\n"} {
		tr, err := tracetest.ParseText(strings.NewReader("memtop-trace 1\ndevice 0\nalloc 0x100 512\n" + end))
		fatal.If(t, err)
		if r := New(tr); r.Pinned != nil {
			t.Errorf("%s: %+v", name, r.Pinned)
		}
	}
}

// TestAReserveOfExpandableSegmentsIsNamed has a file of PyTorch 2.15: a request of
// more than the reserve, while the driver had much more.
func TestAReserveOfExpandableSegmentsIsNamed(t *testing.T) {
	source, err := snapshots.Open(t.Context(), "../pytorch/testdata/reserve.torch2.15.pickle.gz", snapshots.Options{})
	fatal.If(t, err)
	defer func() { _ = source.Close() }()
	text := pageOf(t, New(source.Trace()), 200)
	const want = "the driver had 69.3 GiB free: expandable_segments_reserve lets no segment have that much"
	if got := strings.Count(text, want); got != 2 {
		t.Errorf("%d sentences name it, want the finding and the account:\n%s", got, text)
	}
}
