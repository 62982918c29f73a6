package autograd

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Variable is a leaf of computations: a tensor that outlives steps, such as a
// parameter, with its gradient. The code that made it closes it.
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

// OnGrad registers f to run each time a backward pass has added to the gradient:
// once per pass, after the last use of the variable was counted. f may read,
// change or release the gradient. Hooks run in the order in which they were
// added, and cannot be removed.
func (v *Variable) OnGrad(f func(*Variable)) {
	v.hooks = append(v.hooks, f)
}

// Move moves the tensor to another device, such as the host. From then on
// operations fetch it for as long as they need it. The gradient stays where it
// is.
func (v *Variable) Move(d *tensor.Device) {
	if old := v.value.data; old.Device() != d {
		v.value.data = old.To(d)
		old.Release()
	}
}

// KeepGrad keeps the gradient on another device, such as the host. Each part of
// the gradient goes there when a backward pass has completed it, and the parts
// add up there. nil keeps the gradient where it is computed. On a device that
// processes share, the gradient is the mean over the processes. The variable must
// have no gradient when KeepGrad is called.
func (v *Variable) KeepGrad(d *tensor.Device) { v.keeper = d }

// PadCasts makes conversions of the variable, a matrix, add rows of 0 until the
// number of rows is a multiple of n, because products of round sizes are faster.
// 0 adds no rows. It holds from the next conversion on.
func (v *Variable) PadCasts(n int) { v.pad = n }

// padded returns the shape of the variable's conversions. A part of a matrix that
// processes share is converted without padding.
func (v *Variable) padded() tensor.Shape {
	shape := slices.Clone(v.Data().Shape())
	if v.pad > 0 && v.Data().Device().Group() == nil {
		shape[0] = (shape[0] + v.pad - 1) / v.pad * v.pad
	}
	return shape
}

// Close releases the tensor and the gradient.
func (v *Variable) Close() {
	v.ZeroGrad()
	v.value.data.Release()
}

// accumulate adds to the gradient. It keeps the first part as it is if there is
// no other handle on it.
func (v *Variable) accumulate(g *tensor.Tensor) {
	layer, keeper := v.Data().Storage().Label().Layer, v.keeper
	if keeper == nil && v.grad != nil {
		keeper = v.grad.Device()
	}
	sent := keeper != nil && keeper != g.Device()
	if sent {
		if keeper.Group() != nil {
			g = g.Mean(keeper)
		} else {
			g = g.To(keeper)
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
