package optim

import (
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Clipping is how long all gradients together are, as a vector, and how long they may
// be. Whoever made it releases it.
type Clipping struct {
	norm  *tensor.Tensor
	limit float64
}

// Clip has a step take gradients as if they were together no longer than limit, as
// PyTorch's clip_grad_norm_ leaves them. It adds up where the gradients are, all on
// one device, and on d when there are none. It does not wait for the device.
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

// Norm reads how long the gradients are, and does not wait for it.
func (c *Clipping) Norm() *tensor.Pending { return c.norm.Fetch() }

// Release gives the norm up.
func (c *Clipping) Release() { c.norm.Release() }
