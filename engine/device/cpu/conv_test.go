package cpu

import (
	"fmt"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device"
)

// referenceConv is the definition.
func referenceConv(c device.Conv2D, x, weight, bias []float64) []float64 {
	c = c.Normalized()
	oh, ow, ig, og := c.OutHeight(), c.OutWidth(), c.InChannels/c.Groups, c.OutChannels/c.Groups
	y := make([]float64, c.Batch*c.OutChannels*oh*ow)
	for i := range y {
		col, row, o, n := i%ow, i/ow%oh, i/ow/oh%c.OutChannels, i/ow/oh/c.OutChannels
		if bias != nil {
			y[i] = bias[o]
		}
		for k := range ig {
			for kh := range c.KernelHeight {
				for kw := range c.KernelWidth {
					h := row*c.StrideHeight - c.PadHeight + kh*c.DilateHeight
					v := col*c.StrideWidth - c.PadWidth + kw*c.DilateWidth
					if h < 0 || v < 0 || h >= c.InHeight || v >= c.InWidth {
						continue
					}
					channel := o/og*ig + k
					y[i] += x[((n*c.InChannels+channel)*c.InHeight+h)*c.InWidth+v] *
						weight[((o*ig+k)*c.KernelHeight+kh)*c.KernelWidth+kw]
				}
			}
		}
	}
	return y
}

var convolutions = map[string]device.Conv2D{
	"one by one":       {Batch: 2, InChannels: 3, OutChannels: 4, InHeight: 5, InWidth: 6, KernelHeight: 1, KernelWidth: 1},
	"padded":           {Batch: 2, InChannels: 3, OutChannels: 2, InHeight: 7, InWidth: 5, KernelHeight: 3, KernelWidth: 3, PadHeight: 1, PadWidth: 1},
	"strided":          {Batch: 1, InChannels: 2, OutChannels: 3, InHeight: 9, InWidth: 8, KernelHeight: 3, KernelWidth: 2, StrideHeight: 2, StrideWidth: 3, PadHeight: 2, PadWidth: 1},
	"dilated":          {Batch: 1, InChannels: 2, OutChannels: 2, InHeight: 9, InWidth: 9, KernelHeight: 3, KernelWidth: 3, DilateHeight: 2, DilateWidth: 3, PadHeight: 1, PadWidth: 3},
	"grouped":          {Batch: 2, InChannels: 6, OutChannels: 4, InHeight: 4, InWidth: 4, KernelHeight: 3, KernelWidth: 3, Groups: 2, PadHeight: 1, PadWidth: 1},
	"depthwise":        {Batch: 3, InChannels: 4, OutChannels: 4, InHeight: 5, InWidth: 5, KernelHeight: 3, KernelWidth: 3, Groups: 4},
	"mostly padding":   {Batch: 1, InChannels: 1, OutChannels: 1, InHeight: 2, InWidth: 2, KernelHeight: 2, KernelWidth: 2, PadHeight: 4, PadWidth: 5, StrideHeight: 3, StrideWidth: 2},
	"in several bands": {Batch: 1, InChannels: 40, OutChannels: 2, InHeight: 100, InWidth: 100, KernelHeight: 3, KernelWidth: 3, PadHeight: 1, PadWidth: 1},
}

func newConv(r *rig, kind device.DType, c device.Conv2D) (device.Conv2D, device.Conv2DBackward) {
	groups := max(1, c.Groups)
	c.X = r.normals(kind, c.Batch*c.InChannels*c.InHeight*c.InWidth)
	c.Weight = r.normals(kind, c.OutChannels*c.InChannels/groups*c.KernelHeight*c.KernelWidth)
	c.Bias = r.normals(kind, c.OutChannels)
	out := c.Batch * c.OutChannels * c.OutHeight() * c.OutWidth()
	c.Y = r.array(kind, out)
	c.Work = r.buffer(c.Workspace())
	return c, device.Conv2DBackward{
		C: c, DY: r.normals(kind, out), DX: r.array(kind, c.X.Len), DWeight: r.array(kind, c.Weight.Len),
		DBias: r.array(kind, c.OutChannels), Work: r.buffer(c.BackwardWorkspace()),
	}
}

func TestConvolutionAgreesWithTheDefinition(t *testing.T) {
	fatal.IfShort(t)
	for name, c := range convolutions {
		for _, kind := range floats {
			if c.InChannels == 40 && kind != device.Float32 && kind != device.Float64 {
				continue // bands are cut by the type of computation
			}
			t.Run(fmt.Sprintf("%s, %v", name, kind), func(t *testing.T) {
				r := newRig(t, 2)
				c, _ := newConv(r, kind, c)
				r.Conv2D(c.Plan())
				near(t, "y", r.get(c.Y), referenceConv(c, r.get(c.X), r.get(c.Weight), r.get(c.Bias)), 6*tolerance(kind))
			})
		}
	}
}

func TestConvolutionGradientsOfEveryTypeAgree(t *testing.T) {
	fatal.IfShort(t)
	for name, c := range convolutions {
		for _, kind := range []device.DType{device.Float32, device.BFloat16, device.Float16} {
			if c.InChannels == 40 && kind == device.Float16 {
				continue // sums of bands are rounded as bfloat16's are
			}
			t.Run(fmt.Sprintf("%s, %v", name, kind), func(t *testing.T) {
				r := newRig(t, 2)
				low, lowGrad := newConv(r, kind, c)
				exact, exactGrad := newConv(r, device.Float64, c)
				for _, pair := range [][2]device.Array{{exact.X, low.X}, {exact.Weight, low.Weight}, {exactGrad.DY, lowGrad.DY}} {
					r.set(pair[0], r.get(pair[1]))
				}
				exactGrad.C, lowGrad.C = exact, low
				r.Conv2DBackward(lowGrad.Plan())
				r.Conv2DBackward(exactGrad.Plan())
				allowed := 20 * tolerance(kind)
				near(t, "dx", r.get(lowGrad.DX), r.get(exactGrad.DX), allowed)
				near(t, "dweight", r.get(lowGrad.DWeight), r.get(exactGrad.DWeight), allowed)
				near(t, "dbias", r.get(lowGrad.DBias), r.get(exactGrad.DBias), allowed)
			})
		}
	}
}

func TestConvolutionScratchIsBounded(t *testing.T) {
	c := device.Conv2D{Batch: 64, InChannels: 64, OutChannels: 64, InHeight: 224, InWidth: 224, KernelHeight: 3, KernelWidth: 3, PadHeight: 1, PadWidth: 1}
	if got := c.Workspace(); got > device.ConvBandBytes {
		t.Errorf("got %d bytes, want at most %d", got, device.ConvBandBytes)
	}
}
