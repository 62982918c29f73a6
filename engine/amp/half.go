package amp

import (
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// Convert changes parameters to another floating type, such as bfloat16: the
// whole model then computes in it, activations and gradients included. Their
// gradients are released. Both copies of one parameter exist for a moment. It
// fails (see [tensor.Try]) when there is no memory for that; the parameters done
// before stay converted.
func Convert(params []*autograd.Variable, dtype device.DType) {
	for _, p := range params {
		if p.Data().DType() == dtype {
			continue
		}
		label := p.Data().Storage().Label()
		p.SetData(tensor.Convert(p.Data(), dtype, tensor.Tag{
			Category: label.Category, Layer: label.Layer, Role: label.Role,
		}))
	}
}
