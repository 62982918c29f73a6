package stacks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/page"
)

// chain returns a node with so many frames under it, one in the other, and the last
// calling two.
func chain(frames int) *analysis.Node {
	root := &analysis.Node{Label: "all", Bytes: 100}
	last := root
	for i := range frames {
		next := &analysis.Node{Label: fmt.Sprint("f", i), Bytes: 100}
		last.Children, last = []*analysis.Node{next}, next
	}
	last.Children = []*analysis.Node{{Label: "left", Bytes: 60}, {Label: "right", Bytes: 40}}
	return root
}

func TestTheFlameGraphFoldsTheCommonTrunk(t *testing.T) {
	for frames, want := range map[int]string{
		0: "0 all, 1 left, 1 right",
		2: "0 all, 1 f0, 2 f1, 3 left, 3 right",
		3: "0 all, 1 f2, 2 left, 2 right",
		9: "0 all, 1 f8, 2 left, 2 right",
	} {
		t.Run(fmt.Sprint(frames, " frames"), func(t *testing.T) {
			var g graph
			g.show(chain(frames))
			g.layout(80, 10)
			var got []string
			for _, b := range g.boxes {
				got = append(got, fmt.Sprint(b.depth, " ", b.node.Label))
				if g.depthOf(b.node) != b.depth {
					t.Errorf("%s lies %d deep, drawn %d", b.node.Label, g.depthOf(b.node), b.depth)
				}
			}
			if text := strings.Join(got, ", "); text != want {
				t.Errorf("got %s, want %s", text, want)
			}
			depth := 0
			for len(g.below(g.selected)) > 0 {
				g.selected = g.below(g.selected)[0]
				if depth++; g.depthOf(g.selected) != depth {
					t.Errorf("%d down is %s, %d deep", depth, g.selected.Label, g.depthOf(g.selected))
				}
			}
			for ; depth > 0; depth-- {
				g.selected = g.above(g.selected)
			}
			if g.selected != g.root {
				t.Errorf("up again is %s", g.selected.Label)
			}
		})
	}
}

func TestAFrameInTheTrunkIsNotSelected(t *testing.T) {
	var g graph
	g.show(chain(9))
	g.layout(80, 10)
	g.reveal(g.root.Children[0].Children[0])
	g.layout(80, 10)
	if g.selected.Label != "f8" {
		t.Errorf("%s is selected, want the frame that is shown for it", g.selected.Label)
	}
}

func TestATrunkBesideOthersIsFoldedToo(t *testing.T) {
	var g graph
	root := &analysis.Node{Label: "all", Bytes: 120, Children: append(chain(5).Children, &analysis.Node{Label: "held", Bytes: 20})}
	g.show(root)
	g.layout(80, 10)
	if below := g.below(root); len(below) != 2 || below[0].Label != "f4" || below[1].Label != "held" {
		t.Errorf("under all stand %v", below)
	}
}

func TestAFramesColourSaysWhoseCodeItIs(t *testing.T) {
	for file, want := range map[string]kind{
		"/home/me/train.py":                     program,
		"<ipython-input-3-1a2b>":                program,
		"/home/me/lib/python/train.py":          program,
		"/env/site-packages/torch/_ops.py":      library,
		"/usr/lib/python3.12/contextlib.py":     library,
		"<frozen runpy>":                        library,
		"/build/aten/src/ATen/RegisterCUDA.cpp": native,
		"/home/me/train.go":                     program,
	} {
		tr := tracetest.Parse(t, fmt.Sprintf("frame f %q 10 \"main\"\nstack s f\ndevice 0\nalloc 0x1000 512 stack=s\n", file))
		p := &Page{Body: page.Body{Scene: &page.Scene{Index: analysis.NewIndex(tr, &tr.Devices[0])}}}
		if got := p.kindOf(&analysis.Node{Frame: 1}); got != want {
			t.Errorf("%s: got %d, want %d", file, got, want)
		}
	}
}

func TestNamesOfTwoFilesAreToldApart(t *testing.T) {
	tests := map[string]struct{ before, after, wantBefore, wantAfter string }{
		"both fit":                {"before.pickle", "after.pickle", "before.pickle", "after.pickle"},
		"steps of one run":        {"run_2026_step_000100.pickle", "run_2026_step_000200.pickle", "…100.pickle", "…200.pickle"},
		"one begins as the other": {"a_very_long_name", "a_very_long_name_again", "…e", "…e_again"},
		"nothing in common":       {"full_precision.pickle", "mixed_precision.pickle", "full_precision.pickle", "mixed_precision.pickle"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := apart(test.before, test.after, 16)
			if before != test.wantBefore || after != test.wantAfter {
				t.Errorf("got %q and %q, want %q and %q", before, after, test.wantBefore, test.wantAfter)
			}
		})
	}
}
