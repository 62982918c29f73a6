package autograd_test

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

func TestMixedTypesPromoteAndGradientsKeepTheirs(t *testing.T) {
	f32, f64, bf16, f16 := device.Float32, device.Float64, device.BFloat16, device.Float16
	tests := map[string]struct{ a, b, want device.DType }{
		"equal halves stay":    {bf16, bf16, bf16},
		"a half and a float":   {bf16, f32, f32},
		"a float and a half":   {f32, f16, f32},
		"two different halves": {bf16, f16, f32},
		"a float and a double": {f32, f64, f64},
		"a half and a double":  {f16, f64, f64},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := tensortest.Device(t)
			a := autograd.NewVariable("a", tensor.Full(d, tensor.Shape{2, 3}, test.a, 2, tensor.Tag{}))
			b := autograd.NewVariable("b", tensor.Full(d, tensor.Shape{3}, test.b, 4, tensor.Tag{}))
			defer a.Close()
			defer b.Close()
			tape := autograd.NewTape(d, 0)
			tape.Run(func() {
				y := tape.Mul(tape.Add(a.Value(), b.Value()), b.Value())
				if y.DType() != test.want || y.Data().Floats()[0] != 24 {
					t.Errorf("the result is %v of %v, want %v of 24", y.DType(), y.Data().Floats()[0], test.want)
				}
				tape.Backward(tape.SumAll(y))
			})
			for v, want := range map[*autograd.Variable]float64{a: 4, b: 20} { // Σ over the two rows for b
				if g := v.Grad(); g.DType() != v.Data().DType() || g.Floats()[0] != want {
					t.Errorf("the gradient of %s is %v of %v, want %v of %v",
						v.Name(), g.DType(), g.Floats()[0], v.Data().DType(), want)
				}
			}
		})
	}
}
