package difference

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// Tree joins the stacks of both sides. A node's Bytes and Count are the sums of
// both sides, and Of has the numbers of each side.
type Tree struct {
	Root *analysis.Node
	Of   map[*analysis.Node]*Row
}

// Tree joins the stacks of both sides by function, because another version of a
// program has different line numbers. From each stack it takes the program's own
// frames, frames of Go, and the operation that was called there or, if all is
// true, every frame that is not hidden. Children are sorted by the bytes of both
// sides together, the largest first.
func (d *Difference) Tree(innermostFirst, all bool) *Tree {
	t := &Tree{Root: &analysis.Node{Label: "all"}, Of: make(map[*analysis.Node]*Row)}
	children := make(map[*analysis.Node]map[function]*analysis.Node)
	for side := range d.blocks {
		for _, h := range d.holdings(side) {
			node := t.Root
			t.add(node, side, h)
			for _, frame := range d.path(h.Stack, innermostFirst, all) {
				if children[node] == nil {
					children[node] = make(map[function]*analysis.Node)
				}
				f := d.Merged.common.Frames[frame]
				key := function{f.File, f.Name, h.Stack == 0}
				child := children[node][key]
				if child == nil {
					child = &analysis.Node{Frame: frame, Label: d.Merged.functionName(frame, h.Stack == 0)}
					children[node][key] = child
					node.Children = append(node.Children, child)
				}
				node = child
				t.add(node, side, h)
			}
		}
	}
	sortTree(t.Root)
	return t
}

func (t *Tree) add(n *analysis.Node, side int, h lines.Holding) {
	r := t.Of[n]
	if r == nil {
		r = &Row{Name: n.Label, Frame: n.Frame}
		t.Of[n] = r
	}
	n.Bytes += h.Bytes
	n.Count += h.Count
	r.Bytes[side] += h.Bytes
	r.Count[side] += h.Count
}

// function is what frames are joined by.
type function struct {
	file, name trace.StringID
	held       bool // there is none: the memory was held before recording
}

// functionName names a frame without its line.
func (m *Merged) functionName(frame trace.FrameID, held bool) string {
	if f := m.common.Frames[frame]; !held && m.code.Own(frame) {
		file := parts(m.common.String(f.File))
		return file[len(file)-1] + " " + m.common.String(f.Name)
	}
	return m.lineName(frame, held)
}

// path returns a stack's frames from the root of the tree on; one without a stack is
// the absent frame.
func (d *Difference) path(stack trace.StackID, innermostFirst, all bool) []trace.FrameID {
	var path []trace.FrameID
	code, frames := d.Merged.code, d.Merged.common.Stack(stack)
	operation := code.Operation(stack)
	for _, frame := range frames {
		tells := all || lines.IsGo(d.Merged.common.String(d.Merged.common.Frames[frame].File))
		if code.Own(frame) || frame == operation || tells && !code.Hidden(frame) {
			path = append(path, frame)
		}
	}
	switch {
	case len(frames) == 0:
		path = append(path, 0)
	case len(path) == 0:
		path = append(path, frames[0])
	}
	if !innermostFirst {
		slices.Reverse(path)
	}
	return path
}

func sortTree(n *analysis.Node) {
	slices.SortStableFunc(n.Children, func(a, b *analysis.Node) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, child := range n.Children {
		sortTree(child)
	}
}
