package optim

import (
	"memtop/engine/autograd"
	"memtop/engine/device"
	"memtop/engine/tensor"
	"memtop/snapshots/trace"
)

// Clip makes all gradients together no longer than limit, as a vector, and
// returns how long they were: what PyTorch's clip_grad_norm_ does. It computes
// where the gradients are, all on one device, and on d when there are none. It
// does not wait for the device.
func Clip(d *tensor.Device, parameters []*autograd.Variable, limit float64) (norm *tensor.Pending) {
	var list []device.Array
	for _, v := range parameters {
		if g := v.Grad(); g != nil {
			g.Storage().Wrote()
			d, list = g.Device(), append(list, g.Array())
		}
	}
	length := tensor.New(d, tensor.Shape{1}, device.Float32, tensor.Tag{Category: trace.Workspace, Role: "gradient norm"})
	defer length.Release()
	d.Backend().Norm2(length.Array(), list)
	d.Backend().ClipByNorm(list, length.Array(), limit)
	return length.Fetch()
}
