package export

import (
	"slices"
	"strconv"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
)

// A flame graph is a list of lists. Its boxes are as wide as their memory, by
// style, so it needs no script, and a screen reader reads a tree.

// How much of the stacks a page draws: boxes that can be seen, and few enough
// that no file makes a page too large to send.
const (
	flameBoxes = 1500
	flameDepth = 64
	flameShare = 500 // a box has this part of the memory at least
)

type flame struct {
	Title string
	Root  flameBox
	Small string // how many boxes are not drawn, "" for none
}

// flameBox is a frame with what it calls.
type flameBox struct {
	htmlShare
	Width string // in percent of the box above
	Boxes []flameBox
}

// flame returns the stacks of the live memory, nil if nothing is live.
func (s snapshot) flame(allFrames bool) *flame {
	tree := s.index.Stacks(s.event, analysis.StackOptions{HideRuntime: !allFrames})
	if tree.Bytes <= 0 {
		return nil
	}
	var sizes []int64 // of those that are not too deep
	count := 0
	var visit func(n *analysis.Node, depth int)
	visit = func(n *analysis.Node, depth int) {
		if count++; depth <= flameDepth {
			sizes = append(sizes, n.Bytes)
		}
		for _, child := range n.Children {
			visit(child, depth+1)
		}
	}
	visit(tree.Root, 0)
	least := max(tree.Bytes/flameShare, 1)
	if slices.Sort(sizes); len(sizes) > flameBoxes {
		least = max(least, sizes[len(sizes)-flameBoxes]+1)
	}
	drawn := 0
	f := &flame{Title: s.title(), Root: s.box(tree.Root, tree.Root.Bytes, least, 0, &drawn)}
	if small := count - drawn; small > 0 {
		f.Small = quantity.Count(small)
	}
	return f
}

// box draws a node in a box of some bytes, with those below it that are large enough.
func (s snapshot) box(n *analysis.Node, above, least int64, depth int, drawn *int) flameBox {
	*drawn++
	name := n.Label
	if n.Frame != 0 {
		name = s.index.ShortLabel(n.Frame)
	}
	b := flameBox{s.share(label(name), s.boxClass(n), n.Bytes), width(n.Bytes, above), nil}
	for _, child := range n.Children {
		if child.Bytes >= least && depth < flameDepth {
			b.Boxes = append(b.Boxes, s.box(child, n.Bytes, least, depth+1, drawn))
		}
	}
	return b
}

// boxClass is the style of a box: whose code it is.
func (s snapshot) boxClass(n *analysis.Node) string {
	switch {
	case n.Frame == 0:
		return "before"
	case s.index.Code().Own(n.Frame):
		return "own"
	default:
		return "library"
	}
}

func width(part, whole int64) string {
	return strconv.FormatFloat(float64(part)/float64(whole)*100, 'f', 3, 64)
}
