package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
)

const mib = 1 << 20

func TestOOMIsJudgedByTheStateItHappenedIn(t *testing.T) {
	tests := map[string]struct {
		text    string
		verdict Verdict
		reason  string
	}{
		"everything is in use": {`
device 0
segment_alloc 0x10000000 33554432
alloc 0x10000000 33554432 stack=act
oom 1048576 20971520 stack=act
free_requested 0x10000000 33554432
free_completed 0x10000000 33554432
segment 0x10000000 33554432 stream=0 type="large"
block 0x10000000 33554432 inactive
`, Full, "only 0 B was cached"},
		"the free memory is in pieces": {`
device 0
segment_alloc 0x10000000 33554432
alloc 0x10000000 8388608 stack=act
alloc 0x10800000 8388608 stack=main
alloc 0x11000000 8388608 stack=act
alloc 0x11800000 8388608 stack=main
free_requested 0x10000000 8388608
free_completed 0x10000000 8388608
free_requested 0x11000000 8388608
free_completed 0x11000000 8388608
oom 0 16777216 stack=act
segment 0x10000000 33554432 stream=0 type="large"
block 0x10000000 8388608 inactive
block 0x10800000 8388608 active_allocated requested=8388608 stack=main
block 0x11000000 8388608 inactive
block 0x11800000 8388608 active_allocated requested=8388608 stack=main
`, Fragmented, "in pieces of at most 8.0 MiB"},
		"the free memory belongs to another stream": {`
device 0
segment_alloc 0x10000000 33554432 stream=7
oom 0 16777216 stack=act
segment 0x10000000 33554432 stream=7 type="large"
block 0x10000000 33554432 inactive
`, Elsewhere, "only 0 B of it for this stream"},
		"another stream still uses what was freed": {`
device 0
segment_alloc 0x10000000 33554432
alloc 0x10000000 33554432 stack=act
free_requested 0x10000000 33554432
snapshot 0x0 0
oom 0 16777216 stack=act
free_completed 0x10000000 33554432
segment 0x10000000 33554432 stream=0 type="large"
block 0x10000000 33554432 inactive
`, PendingFrees, "32.0 MiB was freed but still in use"},
		"the driver had enough for the request but not for its segment": {`
device 0
segment_alloc 0x10000000 33554432
alloc 0x10000000 33554432 stack=act
oom 10485760 8388608 stack=act
segment 0x10000000 33554432 stream=0 type="large"
block 0x10000000 33554432 active_allocated requested=33554432 stack=act
`, Full, "asked for 8.0 MiB, which takes a new segment of 20.0 MiB; only 0 B was cached"},
		"the driver had enough": {`
device 0
oom 1073741824 16777216 stack=act
segment_alloc 0x10000000 33554432
segment 0x10000000 33554432 stream=0 type="large"
block 0x10000000 33554432 inactive
`, Unexplained, "1.0 GiB free"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := indexOf(t, tracetest.Frames+test.text)
			ooms := x.OOMs()
			if len(ooms) != 1 {
				t.Fatalf("got %d out-of-memory events, want 1", len(ooms))
			}
			if o := &ooms[0]; o.Verdict != test.verdict || !strings.Contains(o.Reason, test.reason) {
				t.Errorf("got %q: %s; want %q: …%s…", o.Verdict, o.Reason, test.verdict, test.reason)
			}
			if first := x.Findings()[0]; first.Severity != Problem || first.Where.Event != ooms[0].Event {
				t.Errorf("the first finding is %+v, want the out-of-memory event", first)
			}
		})
	}
}

// TestWhatAFailedStepLeftIsTold has a step of four that runs out of memory, and keeps what it made or not.
func TestWhatAFailedStepLeftIsTold(t *testing.T) {
	for name, test := range map[string]struct{ made, failed, freed, want int }{
		"to the end":         {1, 1, 9, 1},
		"until a later step": {1, 1, 3, 0},
		"of a step before":   {0, 1, 9, 0},
		"as no step follows": {3, 3, 9, 0},
	} {
		t.Run(name, func(t *testing.T) {
			x := indexOf(t, tracetest.Steps(4, func(s int) string {
				text := fmt.Sprintf("alloc 0x9000000 524288 @%[1]d100 stack=act\nfree_completed 0x9000000 524288 @%[1]d200\n", s)
				if s == test.freed {
					text += fmt.Sprintf("free_completed 0x1000000 1048576 @%d250\n", s)
				}
				if s == test.made {
					text += fmt.Sprintf("alloc 0x1000000 1048576 @%[1]d300 stack=main\n", s)
				}
				if s == test.failed {
					text += fmt.Sprintf("oom 0 16777216 @%d400 stack=act\n", s)
				}
				return text
			}))
			var got []Finding
			for _, f := range x.allFindings() {
				if f.Kind == LeftByFailureFinding {
					got = append(got, f)
				}
			}
			if len(got) != test.want || test.want == 1 && (got[0].Saving != mib || x.StackName(got[0].Where.Stack) != "train.py:10 main") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAFragmentedRequestIsToldTheRemedyOnce(t *testing.T) {
	const text = `
device 0
oom 0 16777216 stack=act
alloc 0x10000000 1048576 stack=act
segment 0x10000000 20971520 stream=0 type="large"
block 0x10000000 10485760 inactive
block 0x10a00000 2097152 active_allocated requested=2097152 stack=act
block 0x10c00000 8388608 inactive
`
	const remedy = "expandable_segments:True may help (memtop replay)"
	if got := said(indexOf(t, tracetest.Frames+text)); !strings.Contains(got, remedy) {
		t.Errorf("got %s", got)
	}
	set := "settings\nsetting \"expandable_segments\" true\n"
	if got := said(indexOf(t, tracetest.Frames+set+text)); strings.Contains(got, remedy) {
		t.Errorf("although it is on already: got %s", got)
	}
}

// TestTheLargestHolderIsALine has two stacks of a line, which hold more together than a third one.
func TestTheLargestHolderIsALine(t *testing.T) {
	x := indexOf(t, tracetest.Frames+`
device 0
alloc 0x10000000 25165824 stack=act
alloc 0x12000000 16777216 stack=main
alloc 0x14000000 16777216 stack=data
oom 0 20971520 stack=act
`)
	if got := said(x); !strings.Contains(got, "The largest holder is train.py:10 main with 32.0 MiB.") {
		t.Errorf("got %s", got)
	}
}
