package kernels_test

import (
	"fmt"
	"testing"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

var convolutions = map[string]device.Conv2D{
	"one element": {Batch: 1, InChannels: 1, OutChannels: 1, InHeight: 1, InWidth: 1, KernelHeight: 1, KernelWidth: 1},
	"padded":      {Batch: 2, InChannels: 3, OutChannels: 5, InHeight: 7, InWidth: 6, KernelHeight: 3, KernelWidth: 3, PadHeight: 1, PadWidth: 1},
	"strides, dilation and groups": {
		Batch: 2, InChannels: 4, OutChannels: 6, InHeight: 11, InWidth: 9, KernelHeight: 2, KernelWidth: 3, StrideHeight: 2, StrideWidth: 3,
		PadHeight: 2, PadWidth: 1, DilateHeight: 3, DilateWidth: 2, Groups: 2,
	},
	"more padding than image": {Batch: 1, InChannels: 1, OutChannels: 2, InHeight: 2, InWidth: 2, KernelHeight: 2, KernelWidth: 4, PadHeight: 3, PadWidth: 5},
}

func TestConvolutions(t *testing.T) {
	r := newRig(t)
	for name, x := range convolutions {
		for mix, kinds := range mixes {
			for _, rows := range []int{2, 1000} {
				t.Run(fmt.Sprintf("%s, %s, at most %d rows", name, mix, rows), func(t *testing.T) {
					r.seed(t.Name())
					r.kernels.SetBand(kernels.ScratchBytes, rows)
					r.convolve(t, x, kinds)
				})
			}
		}
	}
}

func (r *rig) convolve(t *testing.T, x device.Conv2D, kinds [3]device.DType) {
	t.Helper()
	n := x.Normalized()
	in, out := x.Batch*x.InChannels*x.InHeight*x.InWidth, x.Batch*x.OutChannels*n.OutHeight()*n.OutWidth()
	weights := x.OutChannels * x.InChannels / n.Groups * x.KernelHeight * x.KernelWidth
	x.X, x.Weight, x.Bias = r.normals(kinds[1], in), r.normals(kinds[2], weights), r.normals(kinds[2], x.OutChannels)
	dy := r.normals(kinds[0], out)
	r.agree(t, 4, func(c computer) {
		x := x
		x.Y = r.output(kinds[0], out)
		x.Work = r.buffer(x.Workspace())
		c.Conv2D(x.Plan())
		g := device.Conv2DBackward{
			C: x, DY: dy, DX: r.output(kinds[1], in), DWeight: r.output(kinds[2], weights), DBias: r.output(kinds[2], x.OutChannels),
			Work: r.buffer(x.BackwardWorkspace()),
		}
		c.Conv2DBackward(g.Plan())
	})
}
