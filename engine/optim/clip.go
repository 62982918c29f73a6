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
// as PyTorch's clip_grad_norm_ does. The norm lies where the first gradient does, on
// d if there are none. It has the same bits on whichever devices the gradients are,
// as far as their backends compute alike: the squares are added in the order of the
// parameters, and the sum goes from one device to the next. Clip does not wait for
// the device.
func Clip(d *tensor.Device, parameters []*autograd.Variable, limit float64) *Clipping {
	runs := runsOf(parameters)
	if len(runs) > 0 {
		d = runs[0].device
	}
	tag := tensor.Tag{Category: trace.Workspace, Role: "gradient norm"}
	length := tensor.New(d.Whole(), tensor.Shape{1}, device.Float32, tag)
	switch len(runs) {
	case 0:
		d.Backend().Norm2(length.Array(), nil)
	case 1:
		d.Backend().Norm2(length.Array(), runs[0].list)
	default:
		sum := tensor.Full(d, tensor.Shape{1}, device.Float64, 0, tag)
		for _, r := range runs {
			sum = moved(sum, r.device)
			r.device.Backend().AddSquares(sum.Array(), r.list)
		}
		sum = moved(sum, d)
		d.Backend().Root(length.Array(), sum.Array())
		sum.Release()
	}
	if d.Group() != nil { // each process has parts of the gradients
		x := length.Array()
		d.Backend().Unary(device.Square, x, x)
		length.SumOverGroup(d)
		d.Backend().Unary(device.Sqrt, x, x)
	}
	return &Clipping{length, limit}
}

// run is gradients that follow each other and are on one device.
type run struct {
	device *tensor.Device
	list   []device.Array
}

func runsOf(parameters []*autograd.Variable) (list []run) {
	for _, v := range parameters {
		g := v.Grad()
		if g == nil {
			continue
		}
		if len(list) == 0 || list[len(list)-1].device != g.Device() {
			list = append(list, run{device: g.Device()})
		}
		last := &list[len(list)-1]
		last.list = append(last.list, g.Array())
	}
	return list
}

// moved returns x on a device, and releases the handle that it got.
func moved(x *tensor.Tensor, d *tensor.Device) *tensor.Tensor {
	defer x.Release()
	return x.To(d)
}

// Release releases the norm.
func (c *Clipping) Release() { c.norm.Release() }
