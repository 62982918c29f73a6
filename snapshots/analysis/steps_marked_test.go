package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis/iteration"
)

// marked writes a trace in which optimizers of one kind step, each called from a line
// of its own: their stacks, one letter each. Of a capital letter memory runs out.
func marked(turns ...string) string {
	var text strings.Builder
	text.WriteString(tracetest.Frames + `
frame critic "/home/me/train.py" 44 "main"
frame generator "/home/me/train.py" 54 "main"
stack c malloc adam wrap critic
stack g malloc adam wrap generator
device 0
annotations
`)
	var marks strings.Builder
	at := 0
	for _, turn := range turns {
		for _, letter := range turn {
			at += 10
			stack := strings.ToLower(string(letter))
			fmt.Fprintf(&marks, "annotation \"Optimizer.step#Adam.step\" \"START\" device=0 @%d\n", at)
			fmt.Fprintf(&text, "alloc 0x1000 4096 stack=act @%d\n", at-5)
			if string(letter) == stack {
				fmt.Fprintf(&text, "alloc 0x8000 512 stack=%s @%d\nfree_requested 0x8000 512 @%d\nfree_completed 0x8000 512 @%d\n", stack, at+1, at+1, at+1)
			} else {
				fmt.Fprintf(&text, "oom 0 1048576 stack=%s @%d\n", stack, at+1)
			}
			fmt.Fprintf(&text, "free_requested 0x1000 4096 @%d\nfree_completed 0x1000 4096 @%d\n", at+4, at+4)
			fmt.Fprintf(&marks, "annotation \"Optimizer.step#Adam.step\" \"END\" device=0 @%d\n", at+2)
		}
	}
	return text.String() + marks.String()
}

func TestOneTurnOfALoopWithTwoOptimizersIsOneStep(t *testing.T) {
	for name, test := range map[string]struct {
		turns []string
		want  int
	}{
		"one optimizer":                {[]string{"c", "c", "c"}, 3},
		"two of one kind":              {[]string{"cg", "cg", "cg", "cg"}, 4},
		"one of them twice as often":   {[]string{"ccg", "ccg", "ccg"}, 6},
		"memory runs out in the first": {[]string{"C"}, 0},
		"memory runs out in the third": {[]string{"c", "c", "C"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			x := indexOf(t, marked(test.turns...))
			if x.StepsInferred() != iteration.None || len(x.Steps()) != test.want {
				t.Errorf("got %d steps from %q, want %d: %v", len(x.Steps()), x.StepsInferred(), test.want, x.Steps())
			}
		})
	}
}
