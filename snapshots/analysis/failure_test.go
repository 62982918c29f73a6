package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// failing is a trace that ends with a request of 32 MiB of stream 0.
const failing = tracetest.Frames + `
device 0
segment_alloc 0x10000000 33554432 stream=0
alloc 0x10000000 31457280 stream=0 stack=act
segment_alloc 0x20000000 20971520 stream=0
alloc 0x20000000 2097152 stream=0 stack=opt
alloc 0x20200000 3145728 stream=0 stack=main
free_requested 0x20000000 2097152 stream=0
free_completed 0x20000000 2097152 stream=0
segment_alloc 0x30000000 20971520 stream=0x7
oom 12582912 33554432 stream=0 stack=main
segment 0x10000000 33554432 stream=0 type="large"
block 0x10000000 31457280 active_allocated requested=31457280 stack=act
block 0x11e00000 2097152 inactive
segment 0x20000000 20971520 stream=0 type="large"
block 0x20000000 2097152 inactive
block 0x20200000 3145728 active_allocated requested=3145728 stack=main
block 0x20500000 15728640 inactive
segment 0x30000000 20971520 stream=0x7 type="large"
block 0x30000000 20971520 inactive
`

func TestAFailedRequestIsAccountedFor(t *testing.T) {
	x := indexOf(t, failing)
	f := FailureAt(x, x.End())
	got := map[string]int64{
		"need": f.Need, "short": f.Short, "free": f.Free, "largest": f.Largest, "elsewhere": f.Elsewhere,
		"inference": f.Categories[trace.Inference], "lines": f.Lines.Bytes,
	}
	want := map[string]int64{
		"need": 32 * mib, "short": 20 * mib, "free": 2*mib + 2*mib + 15*mib + 20*mib, "largest": 15 * mib,
		"elsewhere": 20 * mib, "inference": 30 * mib, "lines": 33 * mib,
	}
	equal.Values(t, "the result", want, got)
	if len(f.Pins) != 1 || f.Pins[0].Live != 3*mib || f.Pins[0].Segment != 20*mib {
		t.Errorf("pins: got %+v, want the segment of 20 MiB that 3 MiB keep", f.Pins)
	}
	// How much the step needs beyond this request is not known, so no batch is said to fit.
	changes := []Change{
		{Text: "free 3.0 MiB that pins a segment, from " + x.StackName(f.Pins[0].Stack), Saving: 20 * mib, Basis: Counted},
	}
	equal.Values(t, "changes", changes, f.WouldFit)
}

// TestADriverThatHadEnoughLacksNothing has a limit on the process's share, for
// which no change to the memory can be counted.
func TestADriverThatHadEnoughLacksNothing(t *testing.T) {
	for name, test := range map[string]struct {
		event string
		want  int64
	}{
		"enough":    {"oom 1073741824 33554432 stack=main", 0},
		"not known": {"oom - 33554432 stack=main", -1},
	} {
		t.Run(name, func(t *testing.T) {
			x := indexOf(t, tracetest.Frames+"\ndevice 0\nsegment_alloc 0x10000000 33554432\n"+test.event+`
segment 0x10000000 33554432 stream=0 type="large"
block 0x10000000 33554432 inactive
`)
			if f := FailureAt(x, x.End()); f.Short != test.want || len(f.WouldFit) != 0 {
				t.Errorf("short by %d, want %d; changes %v, want none", f.Short, test.want, f.WouldFit)
			}
		})
	}
}

func TestExpandableSegmentsGrowByPages(t *testing.T) {
	x := indexOf(t, `
settings
setting "expandable_segments" true
`+tracetest.Frames+"\ndevice 0\noom 0 33554432 stack=main\n")
	if f := FailureAt(x, x.End()); f.Need != 40*mib {
		t.Errorf("needs %d, want two pages of 20 MiB", f.Need)
	}
}

// TestASavingThatIsEnoughWouldHaveFit has an optimizer's state of 64 MiB: in 8 bits
// it saves 32 MiB at least, which is enough for one request and not for the other.
func TestASavingThatIsEnoughWouldHaveFit(t *testing.T) {
	for free, want := range map[int64]bool{12 * mib: true, 0: true, -16 * mib: false} {
		x := indexOf(t, tracetest.Frames+fmt.Sprintf(`
device 0
segment_alloc 0x10000000 67108864
alloc 0x10000000 67108864 stack=opt
oom %d %d stack=main
segment 0x10000000 67108864 type="large"
block 0x10000000 67108864 active_allocated requested=67108864 stack=opt
`, max(free, 0), 32*mib-min(free, 0)))
		f := FailureAt(x, x.End())
		got := slices.ContainsFunc(f.WouldFit, func(c Change) bool {
			return c.Text == "an 8-bit optimizer" && c.Saving == 32*mib && c.Basis == Estimated
		})
		if got != want {
			t.Errorf("short by %d: the optimizer's state is a change: %v, want %v: %+v", f.Short, got, want, f.WouldFit)
		}
	}
}

// TestASmallerBatchFitsWhereAStepEnded has steps of 64 MiB and then one whose request
// fails: the steps before say how much more it needs, if they got as far.
func TestASmallerBatchFitsWhereAStepEnded(t *testing.T) {
	for name, test := range map[string]struct {
		size int64
		want string
	}{
		"the steps before needed more": {16 * mib, "a batch 75% smaller"},
		"this one needs more already":  {96 * mib, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := indexOf(t, tracetest.Steps(3, func(s int) string {
				if s == 2 {
					return fmt.Sprintf("alloc 0x10000000 %d @%d stack=act\noom 12582912 33554432 @%d stack=act\n", test.size, s*1000+100, s*1000+200)
				}
				return fmt.Sprintf("alloc 0x10000000 67108864 @%d stack=act\nfree_completed 0x10000000 67108864 @%d stack=act\nalloc 0x100 512 @%d stack=opt\n"+
					"free_completed 0x100 512 @%d stack=opt\n", s*1000+100, s*1000+200, s*1000+910, s*1000+920)
			}))
			got, f := "", FailureAt(x, x.OOMEvents()[0].Event)
			if f.Open != (test.want == "") {
				t.Errorf("what comes after the request is not known: %v, want %v", f.Open, test.want == "")
			}
			for _, c := range f.WouldFit {
				if strings.HasPrefix(c.Text, "a batch") {
					got = c.Text
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
