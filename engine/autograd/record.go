package autograd

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// record lists the operations that one backward pass goes through, in the order
// in which they ran.
type record struct {
	nodes  []*node
	leaves map[*Variable]*slot
	away   map[awayKey]*away
}

// node is one recorded operation.
type node struct {
	op     string
	layer  string
	device *tensor.Device
	in     []*slot // nil where no gradient is wanted
	out    *slot
	saved  []saved
	rule   func(b *back)
	marker func() // instead of all the above
}

// saved is a tensor that a rule will read, as it was when it was saved.
type saved struct {
	data    *tensor.Tensor // nil while it is away, and elsewhere if it is a variable's that lives there
	read    *tensor.Device // where the rule reads it
	version int
	away    *away
	layout  tensor.Layout
}

// keep takes a handle on the saved tensor, or on the original if it is a copy.
func (s *saved) keep(t *Tape, x *tensor.Tensor) {
	if original := t.original(x); original != nil {
		x = original
	}
	s.data, s.version = x.Retain(), x.Storage().Version()
}

// slot is where the gradient of one value adds up.
type slot struct {
	like     *tensor.Tensor // shape and type, never read: it may have been released
	grad     *tensor.Tensor
	low      *tensor.Tensor // grad in a lower type, for the sum that takes it on; nil when there is none
	pad      int            // as the value's
	variable *Variable      // for leaves
	uses     int            // of a leaf, by operations whose rules have not run
	done     bool           // the operation that made the value was differentiated
	readers  int            // operations and views that pass a gradient to it

	// See "Slopes in products".
	maker      *node // the activation that made the value, nil when it is none
	activation device.UnaryOp
	sloped     bool // grad is that of what the activation read
}

func newRecord() *record {
	return &record{leaves: make(map[*Variable]*slot), away: make(map[awayKey]*away)}
}

// slotOf returns where the gradient of v goes, nil when it is not wanted.
func (r *record) slotOf(v *Value) *slot {
	if v.variable == nil {
		return v.slot
	}
	if v.variable.frozen {
		return nil
	}
	s := r.leaves[v.variable]
	if s == nil {
		s = &slot{like: v.data, variable: v.variable}
		r.leaves[v.variable] = s
	}
	return s
}

// add records an operation.
func (r *record) add(n *node) {
	for _, s := range n.in {
		if s == nil {
			continue
		}
		s.readers++
		if s.variable != nil {
			s.uses++
		}
	}
	r.nodes = append(r.nodes, n)
}

// release releases everything that was not consumed.
func (r *record) release() {
	for _, n := range r.nodes {
		n.release()
	}
	for _, s := range r.leaves {
		s.release()
	}
	r.nodes = nil
}

func (n *node) release() {
	for i := range n.saved {
		n.saved[i].release()
	}
	n.saved = nil
	n.out.release()
}

func (s *saved) release() {
	if s.away != nil {
		s.away.release()
		return
	}
	s.data.Release()
}

func (s *slot) release() {
	if s == nil {
		return
	}
	s.grad.Release()
	s.grad = nil
	s.setLow(nil)
}

// setLow keeps a handle on the gradient in a lower type, or on none.
func (s *slot) setLow(low *tensor.Tensor) {
	s.low.Release()
	if s.low = low; low != nil {
		s.low = low.Retain()
	}
}

// add adds a part of a gradient. The slot keeps the first part as it is, and adds
// a further part in place if there is no other handle on the sum.
func (s *slot) add(t *Tape, g *tensor.Tensor) {
	if !g.Shape().Equal(s.like.Shape()) || g.DType() != s.like.DType() {
		panic(fmt.Sprintf("autograd: gradient %v for %v", g, s.like))
	}
	if s.grad == nil {
		s.grad = g.Retain()
		return
	}
	s.bring(g.Device())
	s.setLow(nil)
	g = t.dense(g)
	if sum := t.dense(s.grad); sum != s.grad {
		s.grad.Release()
		s.grad = sum.Retain()
	}
	sum := s.grad
	if sum.Storage().Handles() > 1 {
		sum = tensor.New(g.Device(), s.like.Shape(), s.like.DType(),
			tensor.Tag{Category: trace.BackwardTemporary, Layer: t.layer, Role: "grad sum"})
	}
	g.Device().Backend().AddScaled(sum.Array(), s.grad.Array(), g.Array(), 1)
	if sum != s.grad {
		s.grad.Release()
		s.grad = sum
	}
}

// dense returns g, or, if g is not contiguous, a contiguous copy for the current
// operation.
func (t *Tape) dense(g *tensor.Tensor) *tensor.Tensor {
	if g.Contiguous() {
		return g
	}
	return t.hold(tensor.Contiguous(g, tensor.Tag{Category: trace.BackwardTemporary, Layer: t.layer, Role: "grad sum"}))
}

// save takes handles on the tensors that a rule will read, or sends them to the
// host. It tags temporary memory as activations from now on.
func (t *Tape) save(list []*tensor.Tensor) []saved {
	out := make([]saved, len(list))
	for i, x := range list {
		t.retag(x)
		out[i] = saved{read: x.Device(), away: t.send(x), layout: x.Layout()}
		if out[i].away == nil {
			out[i].keep(t, x)
		}
	}
	return out
}

// retag tags temporary memory as an activation of the layer that saves it. If
// another layer made it, the role names that layer.
func (t *Tape) retag(x *tensor.Tensor) {
	storage := x.Storage()
	label := storage.Label()
	if label.Category != trace.Workspace || label.Role == castRole {
		return
	}
	role := label.Role
	if label.Layer != "" && label.Layer != t.layer {
		role += " of " + label.Layer
	}
	storage.Retag(trace.Activation, t.layer, role)
	if t.onSave != nil && t.phase == Forward && x.Device() == t.home {
		t.onSave(t.layer, storage.Bytes())
	}
}
