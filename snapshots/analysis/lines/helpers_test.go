package lines_test

import (
	"testing"

	"github.com/memtop/memtop/snapshots/analysis/lines"
)

// TestAHelperIsNotWhereMemoryIsFrom has stacks of a program, each with what it holds.
func TestAHelperIsNotWhereMemoryIsFrom(t *testing.T) {
	const frames = `
frame empty "/env/site-packages/torch/functional.py" 5 "empty"
frame make "/home/me/tools.py" 6 "make"
frame weights "/home/me/model.py" 12 "build"
frame more "/home/me/model.py" 13 "build"
frame batch "/home/me/data.py" 30 "load"
frame state "/home/me/optimizer.py" 8 "prepare"
frame each "/home/me/tools.py" 9 "<listcomp>"
frame main "/home/me/train.py" 10 "main"
stack a empty make weights main
stack b empty make each batch main
stack c empty make each state main
stack d empty make more main
stack e empty weights main
stack f empty make
device 0
alloc 0x1000 1 stack=a
alloc 0x2000 1 stack=b
alloc 0x3000 1 stack=c
alloc 0x4000 1 stack=d
alloc 0x8000 1 stack=e
alloc 0xa000 1 stack=f
`
	for name, test := range map[string]struct {
		bytes map[byte]int64 // by stack
		want  map[byte]string
	}{
		"that allocates for three functions": {
			map[byte]int64{'a': 60, 'b': 20, 'c': 20}, map[byte]string{'a': "model.py:12 build", 'b': "tools.py:9 <listcomp>", 'c': "tools.py:9 <listcomp>"},
		},
		"whose caller is not the program's": {
			map[byte]int64{'a': 60, 'b': 20, 'c': 20, 'f': 5}, map[byte]string{'a': "model.py:12 build", 'f': "tools.py:6 make"},
		},
		"which is a layer: few functions call it":        {map[byte]int64{'a': 40, 'b': 30, 'd': 30}, map[byte]string{'a': "tools.py:6 make"}},
		"which allocates nearly all for one":             {map[byte]int64{'a': 80, 'b': 10, 'c': 10}, map[byte]string{'a': "tools.py:6 make"}},
		"which holds little":                             {map[byte]int64{'a': 8, 'b': 8, 'c': 8, 'e': 76}, map[byte]string{'a': "tools.py:6 make", 'e': "model.py:12 build"}},
		"whose callers are lines of the function itself": {map[byte]int64{'e': 100}, map[byte]string{'e': "model.py:12 build"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stacks := stacksOf(t, frames)
			var held []lines.Holding
			for stack, bytes := range test.bytes {
				held = append(held, lines.Holding{Stack: stacks[stack-'a'], Bytes: bytes, Count: 1})
			}
			code.Help(held)
			for stack, want := range test.want {
				if got := code.FrameLabel(code.Line(stacks[stack-'a'])); got != want {
					t.Errorf("stack %c: got %q, want %q", stack, got, want)
				}
			}
		})
	}
}
