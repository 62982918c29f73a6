package analysis

import (
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// LayerTable has the memory and the times of a model's layers in one step, as a
// tree.
type LayerTable struct {
	Step  *trace.Step // nil when no step's layers were measured
	Rows  []LayerRow  // depth first, in the order in which they ran
	Total LayerSum    // of all rows
}

// LayerRow is a layer and the sum of its subtree.
type LayerRow struct {
	trace.Layer        // its own bytes; its times include its children's
	Label       string // the last part of its name, or all of it at the top; printable
	Depth       int
	Parent      int   // row, −1 at the top
	Children    []int // rows
	// Sum is of the row and all below it. Times are not added up: a layer's
	// include its children's already.
	Sum LayerSum
}

// LayerSum is a sum over layers.
type LayerSum struct {
	Layers                                  int // the row itself included
	ParameterBytes, OutputBytes, SavedBytes int64
	TransientPeakBytes                      int64 // the highest
	ForwardNS, BackwardNS, RecomputeNS      int64
}

// Layers returns the layers of the step with a number, or of the last measured
// step before it. If the number is 0, it returns those of the last measured step.
func Layers(t *trace.Trace, step int64) LayerTable {
	for i := len(t.Steps) - 1; i >= 0; i-- {
		if s := &t.Steps[i]; len(s.Layers) > 0 && (step == 0 || s.Number <= step) {
			return layerTree(s)
		}
	}
	return LayerTable{}
}

// layerTree puts every layer below the nearest layer whose name its own name
// begins with, and sorts the rows in the order of the tree.
func layerTree(s *trace.Step) LayerTable {
	at := make(map[string]int, len(s.Layers))
	for i := range s.Layers {
		if _, ok := at[s.Layers[i].Name]; !ok {
			at[s.Layers[i].Name] = i
		}
	}
	below := make([][]int, len(s.Layers))
	var top []int
	for i := range s.Layers {
		if parent := parentLayer(s.Layers[i].Name, at); parent >= 0 && parent != i {
			below[parent] = append(below[parent], i)
		} else {
			top = append(top, i)
		}
	}
	b := layerBuilder{table: LayerTable{Step: s}, below: below}
	for _, i := range top {
		b.table.Total.add(b.add(i, -1, 0))
	}
	return b.table
}

// parentLayer finds the nearest layer around the layer with a name, −1 for none.
// The model itself, whose name is empty, is around all others.
func parentLayer(name string, at map[string]int) int {
	for name != "" {
		name = name[:max(0, strings.LastIndexByte(name, '.'))]
		if i, ok := at[name]; ok {
			return i
		}
	}
	return -1
}

type layerBuilder struct {
	table LayerTable
	below [][]int // layers below each
}

// add appends a layer and all below it, and returns their sum.
func (b *layerBuilder) add(i, parent, depth int) LayerSum {
	l := &b.table.Step.Layers[i]
	row := len(b.table.Rows)
	label := l.Name
	if parent >= 0 {
		label = strings.TrimPrefix(strings.TrimPrefix(label, b.table.Rows[parent].Name), ".")
	}
	b.table.Rows = append(b.table.Rows, LayerRow{Layer: *l, Label: trace.Printable(label), Depth: depth, Parent: parent})
	sum := LayerSum{
		Layers: 1, ParameterBytes: l.ParameterBytes, OutputBytes: l.OutputBytes, SavedBytes: l.SavedBytes,
		TransientPeakBytes: l.TransientPeakBytes, ForwardNS: l.ForwardNS, BackwardNS: l.BackwardNS, RecomputeNS: l.RecomputeNS,
	}
	for _, child := range b.below[i] {
		b.table.Rows[row].Children = append(b.table.Rows[row].Children, len(b.table.Rows))
		below := b.add(child, row, depth+1)
		below.ForwardNS, below.BackwardNS, below.RecomputeNS = 0, 0, 0
		sum.add(below)
	}
	b.table.Rows[row].Sum = sum
	return sum
}

func (s *LayerSum) add(o LayerSum) {
	s.Layers += o.Layers
	s.ParameterBytes += o.ParameterBytes
	s.OutputBytes += o.OutputBytes
	s.SavedBytes += o.SavedBytes
	s.TransientPeakBytes = max(s.TransientPeakBytes, o.TransientPeakBytes)
	s.ForwardNS += o.ForwardNS
	s.BackwardNS += o.BackwardNS
	s.RecomputeNS += o.RecomputeNS
}
