package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Waste
//
// Waste is memory that a program holds without need, as far as the program's
// notes on its tensors and the allocator's events prove it. Neither source says
// which tensors the program reads. So a tensor that is made and never read looks
// like any other, unless another fact shows it: for example, a gradient that
// outlives the optimizer's step, or an optimizer's state without a gradient.

// WasteKind is a kind of waste.
type WasteKind struct {
	Name  string // in JSON
	Means string // a sentence without its end
	find  func(*wasteFinder) []trace.Allocation
	// least is how many bytes are worth reporting.
	least int64
}

// WasteKinds are all kinds, in the order in which they are shown among equals.
var WasteKinds = []WasteKind{
	{Name: "two_precisions", Means: "the same weights in two precisions at the peak of the step", find: (*wasteFinder).twice},
	{Name: "duplicate", Means: "several live tensors with the same name, shape and type; the first is not counted", find: (*wasteFinder).duplicates},
	{Name: "stale_gradient", Means: "gradients that are older than the optimizer's last step", find: (*wasteFinder).staleGradients},
	{Name: "unused_optimizer_state", Means: "optimizer state of layers without a gradient in the last step", find: (*wasteFinder).unusedState},
}

// RoundingWaste is the bytes of blocks beyond the requested sizes.
var RoundingWaste = WasteKind{Name: "rounding", Means: "blocks are larger than what was requested", least: 1 << 20}

// Waste is memory that a program holds without need.
type Waste struct {
	Kind  *WasteKind
	Bytes int64
	Count int // of tensors, or blocks
	// Name and Stack are of the line that has most of it.
	Name  string
	Stack trace.StackID
}

// Text returns the waste as a sentence without its end.
func (w *Waste) Text() string {
	text := fmt.Sprintf("%s in %s: %s", quantity.Bytes(w.Bytes), quantity.Plural(w.Count, "block"), w.Kind.Means)
	if w.Name != "" {
		text += ", most of it " + w.Name
	}
	return text
}

// Waste returns the waste of a program's last step, the largest first, and
// whether there is such a step. Without a step, only rounding is known.
func (x *Index) Waste() (found []Waste, known bool) {
	at := x.End()
	if step := LastStepOf(x); step != nil {
		at, known = step.End, true
		f := &wasteFinder{index: x, step: step, end: x.Tensors(step.End), peak: x.Tensors(step.Peak)}
		for k := range WasteKinds {
			found = f.add(found, &WasteKinds[k], WasteKinds[k].find(f))
		}
	}
	found = append(found, x.roundingWaste(at)...)
	slices.SortStableFunc(found, func(a, b Waste) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return found, known
}

// roundingWaste adds up, by stack, the bytes of blocks beyond the requested
// sizes.
func (x *Index) roundingWaste(at int) []Waste {
	w := Waste{Kind: &RoundingWaste}
	by := make(map[trace.StackID]int64)
	for _, s := range x.SegmentsAt(at).Segments {
		for _, b := range s.Blocks {
			if more := b.Size - b.Requested; b.State.Live() && more > 0 {
				w.Bytes, w.Count = w.Bytes+more, w.Count+1
				by[b.Stack] += more
			}
		}
	}
	if w.Bytes < RoundingWaste.least {
		return nil
	}
	w.Stack = mostOf(by)
	w.Name = x.StackName(w.Stack)
	return []Waste{w}
}

func mostOf(by map[trace.StackID]int64) (most trace.StackID) {
	for stack, bytes := range by {
		if bytes > by[most] || bytes == by[most] && stack < most {
			most = stack
		}
	}
	return most
}

// wasteFinder looks at the last step.
type wasteFinder struct {
	index     *Index
	step      *LastStep
	end, peak []Tensor // at its end and at its peak
}

// add adds the tensors found of a kind.
func (f *wasteFinder) add(all []Waste, kind *WasteKind, found []trace.Allocation) []Waste {
	w := Waste{Kind: kind, Count: len(found)}
	by := make(map[trace.StackID]int64)
	for i := range found {
		w.Bytes += found[i].Size
		by[found[i].Stack] += found[i].Size
	}
	if w.Count == 0 {
		return all
	}
	w.Stack = mostOf(by)
	w.Name = f.index.StackName(w.Stack)
	return append(all, w)
}

// identity is the fields that two tensors share if they are the same one.
type identity struct{ layer, role, shape, dtype string }

// twice finds the smaller of two copies of a weight that differ only in their
// type: a parameter and the optimizer's master copy of it, or a parameter and its
// cast.
func (f *wasteFinder) twice() []trace.Allocation {
	weights := make(map[identity]*Tensor)
	for i := range f.peak {
		if t := &f.peak[i]; t.Category == trace.Parameter && t.Layer != "" {
			weights[identity{layer: t.Layer, shape: t.Shape}] = t
		}
	}
	var found []trace.Allocation
	for i := range f.peak {
		t := &f.peak[i]
		w := weights[identity{layer: t.Layer, shape: t.Shape}]
		if w == nil || w.DType == t.DType || !copyRole(t.Role, w.Role) {
			continue
		}
		found = append(found, smaller(t, w).Allocation)
	}
	return found
}

func smaller(a, b *Tensor) *Tensor {
	if a.Size < b.Size {
		return a
	}
	return b
}

// copyRole reports whether a role is that of a copy of the weight whose role is
// the argument weight.
func copyRole(role, weight string) bool {
	return role == weight || role == "master" || role == "autocast "+weight
}

// duplicates finds tensors with the same layer, role, shape and type as an
// earlier tensor. Gradients and an optimizer's state do not name their parameter,
// so there may be as many of them as the layer has parameters of that shape.
func (f *wasteFinder) duplicates() []trace.Allocation {
	var found []trace.Allocation
	seen := make(map[identity]bool)
	for i := range f.end {
		t := &f.end[i]
		id := identity{t.Layer, t.Role, t.Shape, t.DType}
		if t.Layer == "" || t.Role == "" || t.Category != trace.Parameter && t.Category != trace.Input && t.Category != trace.Workspace {
			continue
		}
		if seen[id] {
			found = append(found, t.Allocation)
		}
		seen[id] = true
	}
	return found
}

// staleGradients finds gradients that are older than the last step.
func (f *wasteFinder) staleGradients() []trace.Allocation {
	var found []trace.Allocation
	for i := range f.end {
		if t := &f.end[i]; t.Category == trace.Gradient && !t.Guessed && t.Open < f.step.From {
			found = append(found, t.Allocation)
		}
	}
	return found
}

// unusedState finds the optimizer's state of layers that have no gradient at any
// moment of the step. If no layer has a gradient, the gradients are elsewhere,
// for example on the host, so it finds nothing.
func (f *wasteFinder) unusedState() []trace.Allocation {
	layers := f.layersWithGradients()
	if len(layers) == 0 || layers[""] { // such a gradient is a buffer of several layers, it is not known which
		return nil
	}
	var found []trace.Allocation
	for i := range f.end {
		if t := &f.end[i]; t.Category == trace.Optimizer && !t.Guessed && t.Layer != "" && !layers[t.Layer] {
			found = append(found, t.Allocation)
		}
	}
	return found
}

// layersWithGradients returns the layers that had a gradient at any moment of the
// step.
func (f *wasteFinder) layersWithGradients() map[string]bool {
	x := f.index
	layers := make(map[string]bool)
	for i := f.step.From; i <= f.step.End; i++ {
		e := x.events.At(i)
		n := &x.tables.Notes[e.Note]
		if (e.Kind == trace.Alloc || e.Kind == trace.Retag) && x.tables.String(n.Category) == trace.Gradient.String() {
			layers[trace.Printable(x.tables.String(n.Layer))] = true
		}
	}
	for i := range f.end {
		if t := &f.end[i]; t.Category == trace.Gradient {
			layers[t.Layer] = true
		}
	}
	return layers
}
