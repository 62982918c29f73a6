package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
)

const flushFrames = `
frame main "/home/me/train.py" 10 "main"
frame empty "/env/site-packages/torch/cuda/memory.py" 200 "empty_cache"
stack main main
frame end "/home/me/train.py" 90 "main"
stack empty empty main
stack end empty end
frame graph "/env/site-packages/torch/cuda/graphs.py" 200 "__enter__"
stack capture empty graph main
device 0
`

// TestGivenBackSegmentsSayWhy has segments that go back to the driver for a reason.
func TestGivenBackSegmentsSayWhy(t *testing.T) {
	turns := func(n int, turn string) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "segment_alloc 0x%[1]x 33554432 stack=main\nsegment_alloc 0x%[2]x 33554432 stack=main\n"+turn, (2*i+1)<<32, (2*i+2)<<32)
		}
		return text.String()
	}
	const both = "segment_free 0x%[1]x 33554432 stack=%[3]s\nsegment_free 0x%[2]x 33554432 stack=%[3]s\n"
	by := func(stack string) string { return strings.ReplaceAll(both, "%[3]s", stack) }
	got := by("main") + "segment_alloc 0x1000000 67108864 stack=main\nsegment_free 0x1000000 67108864 stack=empty\n"
	for name, test := range map[string]struct {
		text, want string
	}{
		"for a request":                    {turns(3, got), "driver_refused"},
		"by the program, in a loop":        {turns(5, by("empty")), "empty_cache"},
		"by the program, once":             {turns(1, by("empty")), ""},
		"by the program, before it grows":  {turns(2, by("empty")+"segment_alloc 0x1000000 67108864 stack=main\nsegment_free 0x1000000 67108864 stack=empty\n"), "empty_cache"},
		"by the program, at several lines": {turns(3, by("empty")) + turns(3, by("end")), ""},
		"by PyTorch, for a capture":        {turns(5, by("capture")), ""},
		"not at all":                       {turns(5, ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var said []string
			for _, f := range indexOf(t, flushFrames+test.text).allFindings() {
				if f.Kind == FlushFinding || f.Kind == EmptyCacheFinding {
					said = append(said, f.Kind.Name)
				}
			}
			if strings.Join(said, " ") != test.want {
				t.Errorf("got %v, want %q", said, test.want)
			}
		})
	}
}

// TestACacheThatIsEmptiedOnceInManyStepsIsNoLoop has steps of which few empty the cache.
func TestACacheThatIsEmptiedOnceInManyStepsIsNoLoop(t *testing.T) {
	for every, want := range map[int]bool{1: true, 10: true, 12: false} {
		text := strings.Replace(tracetest.Steps(60, func(s int) string {
			step := fmt.Sprintf("alloc 0x100 4096 @%d stack=main\nfree_completed 0x100 4096 @%d stack=main\n", s*1000+100, s*1000+200)
			if s%every == 0 {
				step += fmt.Sprintf("segment_alloc 0x100000000 33554432 @%d stack=main\nsegment_free 0x100000000 33554432 @%d stack=empty\n", s*1000+300, s*1000+400)
			}
			return step
		}), "device 0", "frame empty \"/env/site-packages/torch/cuda/memory.py\" 200 \"empty_cache\"\nstack empty empty\ndevice 0", 1)
		x := indexOf(t, text)
		if n := len(x.Steps()); n < 50 {
			t.Fatalf("there are %d steps: the test is about nothing", n)
		}
		if got := slices.ContainsFunc(x.allFindings(), func(f Finding) bool { return f.Kind == EmptyCacheFinding }); got != want {
			t.Errorf("in one of %d steps: found %v, want %v", every, got, want)
		}
	}
}

// TestWhatWasRefusedIsKnown adds up refusals, and has levels that the process had at
// another time.
func TestWhatWasRefusedIsKnown(t *testing.T) {
	const refused = `
segment_alloc 0x100000000 33554432 @0 stack=main
segment_free 0x100000000 33554432 @1000 stack=main
segment_alloc 0x200000000 67108864 @13000 stack=main
`
	const held = "segment 0x200000000 67108864 stream=0 type=\"large\"\nblock 0x200000000 67108864 inactive\n"
	for name, test := range map[string]struct{ settings, text, want string }{
		"with its time": {
			"", refused + held,
			"gave back its cache, 32.0 MiB in all, in 12 ms. The process had 64.0 MiB at most, and the device has less than 96.0 MiB for it",
		},
		"of which the process had more at another time": {
			"", refused + "segment_alloc 0x300000000 67108864 stack=main\nsegment_free 0x300000000 67108864 stack=main\n" + held,
			"the process had as much, 128.0 MiB at most",
		},
		"by pages": {"", `
segment_map 0x100000000 20971520 stack=main
segment_unmap 0x100000000 20971520 stack=main
segment_map 0x200000000 20971520 stack=main
segment_map 0x201400000 46137344 stack=main
` + held, "The process had 64.0 MiB at most, and the device has less than 84.0 MiB"},
		"while garbage is collected": {"settings\nsetting \"garbage_collection_threshold\" 0.8\n", refused + held, ""},
	} {
		t.Run(name, func(t *testing.T) {
			said := ""
			for _, f := range indexOf(t, test.settings+flushFrames+test.text).allFindings() {
				if f.Kind == FlushFinding {
					said = f.Evidence
				}
			}
			if test.want == "" && said != "" || !strings.Contains(said, test.want) {
				t.Errorf("got %q, want %q", said, test.want)
			}
		})
	}
}
