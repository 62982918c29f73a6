package autograd

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Variable is a leaf of computations: a tensor that outlives steps, such as a
// parameter, with its gradient. Whoever made it closes it.
type Variable struct {
	name   string
	value  Value
	grad   *tensor.Tensor
	frozen bool
	keeper *tensor.Device // see KeepGrad
	pad    int            // see PadCasts
	hooks  []func(*Variable)
}

// NewVariable makes a leaf of a contiguous tensor, whose handle it takes over.
// The name is a path such as "h.0.mlp.fc.weight".
func NewVariable(name string, data *tensor.Tensor) *Variable {
	if !data.Contiguous() {
		panic(fmt.Sprintf("autograd: variable %s of %v is not contiguous", name, data))
	}
	v := &Variable{name: name, value: Value{data: data}}
	v.value.variable = v
	return v
}

// Name returns the name the variable was made with.
func (v *Variable) Name() string { return v.name }

// Value returns the variable for use in operations. It is valid until Close.
func (v *Variable) Value() *Value { return &v.value }

// Data returns the tensor, which the variable owns.
func (v *Variable) Data() *tensor.Tensor { return v.value.data }

// Grad returns the gradient that was accumulated since ZeroGrad, or nil. The
// variable owns it. It has the variable's shape and type.
func (v *Variable) Grad() *tensor.Tensor { return v.grad }

// ReplaceGrad makes g, whose handle it takes over, the gradient, and releases the one
// before. g has the variable's shape.
func (v *Variable) ReplaceGrad(g *tensor.Tensor) {
	v.grad.Release()
	v.grad = g
}

// ZeroGrad releases the gradient.
func (v *Variable) ZeroGrad() {
	v.grad.Release()
	v.grad = nil
}

// SetFrozen says whether backward passes leave the variable alone. It holds for
// operations recorded from now on.
func (v *Variable) SetFrozen(frozen bool) { v.frozen = frozen }

// Frozen says whether the variable gets no gradient.
func (v *Variable) Frozen() bool { return v.frozen }

// OnGrad has f called each time after a backward pass has added to the
// gradient: once per pass, when the last use of the variable was accounted for.
// f may read, change or release the gradient. Hooks run in the order in which
// they were added, and cannot be taken back.
func (v *Variable) OnGrad(f func(*Variable)) {
	v.hooks = append(v.hooks, f)
}

// Move brings the tensor to another device, such as the host, where it lives from
// now on; operations fetch it for as long as they need it. The gradient stays
// where it is.
func (v *Variable) Move(d *tensor.Device) {
	if old := v.value.data; old.Device() != d {
		v.value.data = old.To(d)
		old.Release()
	}
}

// KeepGrad has the gradient kept on a device such as the host: each part of it
// goes there when a backward pass has completed it, and parts add up there. nil
// is where it is computed. On a device that processes share it is the mean over them.
// There must be no gradient.
func (v *Variable) KeepGrad(d *tensor.Device) { v.keeper = d }

// PadCasts has the variable, a matrix, converted into a matrix whose rows are a
// multiple of n, those beyond the variable's 0: products are computed faster by
// round sizes. 0 is for no more rows. It holds from the next conversion on.
func (v *Variable) PadCasts(n int) { v.pad = n }

// padded is the shape that it is converted into. Parts of a matrix that processes
// share are converted as they are.
func (v *Variable) padded() tensor.Shape {
	shape := slices.Clone(v.Data().Shape())
	if v.pad > 0 && v.Data().Device().Group() == nil {
		shape[0] = (shape[0] + v.pad - 1) / v.pad * v.pad
	}
	return shape
}

// SetData replaces the tensor by another one, whose handle it takes over, and
// releases the old one and the gradient. It is how a whole model changes its
// element type.
func (v *Variable) SetData(data *tensor.Tensor) {
	if !data.Contiguous() || !data.Shape().Equal(v.value.data.Shape()) {
		panic(fmt.Sprintf("autograd: variable %s of %v cannot become %v", v.name, v.value.data, data))
	}
	v.ZeroGrad()
	v.value.data.Release()
	v.value.data = data
}

// Close releases the tensor and the gradient.
func (v *Variable) Close() {
	v.ZeroGrad()
	v.value.data.Release()
}

// accumulate adds a gradient to what there is. The first one is kept as it is
// when there is no other handle on it.
func (v *Variable) accumulate(g *tensor.Tensor) {
	layer := v.Data().Storage().Label().Layer
	sent := v.keeper != nil && v.keeper != g.Device()
	if sent {
		if v.keeper.Group() != nil {
			g = g.Mean(v.keeper)
		} else {
			g = g.To(v.keeper)
		}
		defer g.Release()
	}
	switch {
	case v.grad != nil:
		v.grad.Storage().Wrote()
		g.Device().Backend().AddScaled(v.grad.Array(), v.grad.Array(), g.Array(), 1)
	case g.Storage().Handles() == 1 || sent:
		v.grad = g.Retain()
		g.Storage().Retag(trace.Gradient, layer, "grad")
	default:
		v.grad = tensor.Clone(g, tensor.Tag{Category: trace.Gradient, Layer: layer, Role: "grad"})
	}
	for _, hook := range v.hooks {
		hook(v)
	}
}
