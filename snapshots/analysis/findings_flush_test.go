package analysis

import (
	"fmt"
	"strings"
	"testing"
)

const flushFrames = `
frame main "/home/me/train.py" 10 "main"
frame empty "/env/site-packages/torch/cuda/memory.py" 200 "empty_cache"
stack main main
stack empty empty main
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
		"for a request":                   {turns(3, got), "driver_refused"},
		"by the program, in a loop":       {turns(5, by("empty")), "empty_cache"},
		"by the program, once":            {turns(1, by("empty")), ""},
		"by the program, before it grows": {turns(2, by("empty")+"segment_alloc 0x1000000 67108864 stack=main\nsegment_free 0x1000000 67108864 stack=empty\n"), "empty_cache"},
		"not at all":                      {turns(5, ""), ""},
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
	for _, f := range indexOf(t, flushFrames+turns(3, got)).allFindings() {
		if f.Kind == FlushFinding && !strings.Contains(f.Evidence, "refused memory 3 times") {
			t.Errorf("got %q", f.Evidence)
		}
	}
}
