package tracetest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
)

// whole is a trace without a fault: a block from before recording began, one
// that comes and goes, one that stays.
const whole = `
device 0
segment_alloc 0x1000000 2097152 @100
alloc 0x1000000 1000 @101
free_requested 0x2000000 600 @102
free_completed 0x2000000 600 @103
alloc 0x2000000 2048 @104
free_requested 0x1000000 1000 @104
free_completed 0x1000000 1000 @104
alloc 0x1000000 512 @105
segment 0x1000000 2097152 allocated=512 active=512 requested=512 type="small"
  block 0x1000000 512 active_allocated requested=512
  block 0x1000200 2096640 inactive requested=7
segment 0x2000000 2097152 allocated=2048 active=2560 requested=2548 type="small"
  block 0x2000000 2048 active_allocated requested=2048
  block 0x2000800 512 active_pending_free requested=500
  block 0x2000a00 2094592 inactive requested=0
segment 0x3000000 2097152 type="small" expandable=true
  block 0x3000000 2097152 inactive
`

func TestCheckPassesAWholeTrace(t *testing.T) {
	for _, p := range tracetest.Check(tracetest.Parse(t, whole)).First {
		t.Error(p)
	}
}

func TestCheckFinds(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"a sum of allocated bytes that is wrong": {
			"allocated=2048", "allocated=2560", "segment 0x2000000 says 2560 allocated bytes, its blocks have 2048",
		},
		"a sum of active bytes that is wrong": {
			"active=2560", "active=2048", "segment 0x2000000 says 2048 active bytes, its blocks have 2560",
		},
		"a sum of requested bytes that is wrong": {
			"requested=2548", "requested=1", "segment 0x2000000 says 1 requested bytes, its blocks have 2548",
		},
		"blocks that leave the segment's end out": {
			"2096640 inactive", "2096128 inactive", "blocks of segment 0x1000000 end at 0x11ffe00 instead of 0x1200000",
		},
		"a hole between blocks": {
			"block 0x1000200", "block 0x1000400", "block 0x1000400 follows one that ends at 0x1000200",
		},
		"segments that overlap": {
			"segment 0x2000000", "segment 0x1100000", "segment 0x1100000 begins before the one before it ends",
		},
		"a block of a size that is not rounded": {
			"512 active_pending_free", "500 active_pending_free", "live block 0x2000800 has 500 bytes, not a multiple of 512",
		},
		"a block smaller than what was asked for": {
			"2048 active_allocated requested=2048", "2048 active_allocated requested=4096",
			"block 0x2000000 has 2048 bytes, less than the 4096 asked for",
		},
		"a small segment of another size": {
			"segment 0x3000000 2097152 type=\"small\" expandable=true", "segment 0x3000000 4194304 type=\"small\"",
			"small segment 0x3000000 has 4194304 bytes instead of 2 MiB",
		},
		"a clock that goes back": {
			"@103", "@99", "device 0, event 3: the clock goes back by 3 µs",
		},
		"an alloc over a live address": {
			"alloc 0x2000000 2048 @104", "alloc 0x1000000 2048 @104", "device 0, event 4: alloc at 0x1000000, which is live",
		},
		"a free of another size": {
			"free_requested 0x1000000 1000", "free_requested 0x1000000 999",
			"device 0, event 5: free_requested of 999 bytes at 0x1000000, which was made with 1000",
		},
		"an allocation that vanishes": {
			"block 0x1000000 512 active_allocated", "block 0x1000000 512 inactive",
			"device 0, event 8: the allocation at 0x1000000 is live after the events and not in the final state",
		},
		"a segment freed that is still there": {
			"segment_alloc 0x1000000", "segment_free 0x1000000", "device 0, event 0: ",
		},
		"an allocation of another size at the end": {
			"alloc 0x1000000 512 @105", "alloc 0x1000000 100 @105",
			"device 0, event 8: the allocation at 0x1000000 has 100 bytes, in the final state 512",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(whole, test.old) {
				t.Fatalf("the whole trace has no %q", test.old)
			}
			problems := tracetest.Check(tracetest.Parse(t, strings.Replace(whole, test.old, test.new, 1)))
			for _, p := range problems.First {
				if strings.Contains(p.String(), test.want) {
					return
				}
			}
			t.Errorf("problems %q, want one with %q", tracetest.Reasons(problems), test.want)
		})
	}
}

// TestTextThatMeansEverything reads a file that uses every line and attribute
// of the text form, and writes the same bytes.
func TestTextThatMeansEverything(t *testing.T) {
	want := fatal.Read(t, filepath.Join("testdata", "everything.txt"))
	equal.Values(t, "written again", string(want), tracetest.Text(t, tracetest.Parse(t, string(want))))
}
