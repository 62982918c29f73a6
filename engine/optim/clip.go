package optim

import (
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Clipping holds the norm of all gradients together, and the largest norm that
// they may have. The caller of Clip releases it.
type Clipping struct {
	norm  *tensor.Tensor
	limit float64
}

// Clip makes a step use the gradients scaled so that their norm is at most limit,
// as PyTorch's clip_grad_norm_ does. All gradients are on one device, which adds
// up their norm; d does when there are none. It does not wait for the device.
func Clip(d *tensor.Device, parameters []*autograd.Variable, limit float64) *Clipping {
	var list []device.Array
	for _, v := range parameters {
		if g := v.Grad(); g != nil {
			d, list = g.Device(), append(list, g.Array())
		}
	}
	length := tensor.New(d.Whole(), tensor.Shape{1}, device.Float32, tensor.Tag{Category: trace.Workspace, Role: "gradient norm"})
	d.Backend().Norm2(length.Array(), list)
	if d.Group() != nil { // each process has parts of the gradients
		x := length.Array()
		d.Backend().Unary(device.Square, x, x)
		length.SumOverGroup(d)
		d.Backend().Unary(device.Sqrt, x, x)
	}
	return &Clipping{length, limit}
}

// Norm reads the norm of the gradients without waiting for it.
func (c *Clipping) Norm() *tensor.Pending { return c.norm.Fetch() }

// Release releases the norm.
func (c *Clipping) Release() { c.norm.Release() }
