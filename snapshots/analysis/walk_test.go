package analysis_test

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
)

func TestWalkStopsWhenToldTo(t *testing.T) {
	tr := pytorchtest.TinyTraining()
	x := analysis.NewIndex(tr, &tr.Devices[0])
	calls := 0
	x.Walk(func(int, int64, int64) bool { calls++; return calls < 3 })
	if calls != 3 {
		t.Errorf("called %d times, want 3", calls)
	}
}

// TestToldFramesAreThoseOfTheTree compares with the tree that hides the same
// frames.
func TestToldFramesAreThoseOfTheTree(t *testing.T) {
	tr := pytorchtest.TinyTraining()
	x := analysis.NewIndex(tr, &tr.Devices[0])
	tree := x.Stacks(x.Summary().PeakEvent, analysis.StackOptions{HideRuntime: true, InnermostFirst: true})
	var walk func(n *analysis.Node, path []string)
	walk = func(n *analysis.Node, path []string) {
		for _, stack := range n.Stacks {
			var labels []string
			for _, frame := range x.Told(stack) {
				labels = append(labels, x.FrameLabel(frame))
			}
			if stack > 1 && !slices.Equal(labels, path) {
				t.Errorf("stack %d: told %q, the tree has %q", stack, labels, path)
			}
		}
		for _, child := range n.Children {
			walk(child, append(slices.Clip(path), child.Label))
		}
	}
	walk(tree.Root, nil)
}
