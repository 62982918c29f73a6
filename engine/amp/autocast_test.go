package amp_test

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

var config = nn.GPTConfig{Layers: 4, Dim: 64, Heads: 4, Context: 32, Vocab: 64, Bias: true}

const batch, rows = 4, 32

// run is a GPT with what its passes need.
type run struct {
	device *tensor.Device
	model  *nn.GPT
	c      *nn.Ctx
	loss   nn.CrossEntropy
}

func newRun(t *testing.T, o nn.Options) *run {
	t.Helper()
	return newRunOf(t, device.Float32, o)
}

// newRunOf makes the model in a type.
func newRunOf(t *testing.T, dtype device.DType, o nn.Options) *run {
	t.Helper()
	d := tensortest.Device(t)
	model, err := nn.Build(d, dtype, 1, func(b nn.Builder) *nn.GPT { return nn.NewGPT(b, config) })
	fatal.If(t, err)
	t.Cleanup(func() { nn.Close(model) })
	o.Training = true
	return &run{device: d, model: model, c: nn.NewCtx(autograd.NewTape(d, 1), o)}
}

func (r *run) forward() *autograd.Value {
	ids := make([]int32, batch*rows)
	for i := range ids {
		ids[i] = int32(i * i % config.Vocab)
	}
	tag := tensor.Tag{Category: trace.Input}
	x := r.c.Take(tensor.From(r.device, ids, tensor.Shape{batch, rows}, device.Int32, tag))
	logits := r.c.Call(r.model, x)
	out := r.c.Call(&r.loss, logits, x)
	r.c.Done(logits)
	return out
}

func (r *run) category(c trace.Category) int64 {
	return r.device.Memory().Stats().Category[c].Current
}

func (r *run) zero() {
	for _, p := range nn.Params(r.model) {
		p.ZeroGrad()
	}
}

func TestOperationsRunInTheTypesOfPyTorchsLists(t *testing.T) {
	d := tensortest.Device(t)
	constant := func(shape ...int) *autograd.Variable {
		v := autograd.NewVariable("w", tensor.Full(d, shape, device.Float32, 0.5, tensor.Tag{}))
		t.Cleanup(v.Close)
		return v
	}
	x, w, row := constant(4, 4), constant(4, 4), constant(4)
	image, kernel := constant(1, 1, 4, 4), constant(1, 1, 3, 3)
	low := device.BFloat16
	type compute = func(tape *autograd.Tape, h *autograd.Value) *autograd.Value // h is of the lower type
	tests := map[string]struct {
		do   compute
		want device.DType
	}{
		"linear lowers": {func(tape *autograd.Tape, _ *autograd.Value) *autograd.Value {
			return tape.Linear(x.Value(), w.Value(), row.Value())
		}, low},
		"matmul lowers": {func(tape *autograd.Tape, _ *autograd.Value) *autograd.Value {
			return tape.MatMul(x.Value(), w.Value())
		}, low},
		"convolution lowers": {func(tape *autograd.Tape, _ *autograd.Value) *autograd.Value {
			return tape.Conv2D(image.Value(), kernel.Value(), nil, autograd.Conv2DOptions{})
		}, low},
		"attention lowers": {func(tape *autograd.Tape, _ *autograd.Value) *autograd.Value {
			y := tape.View(x.Value(), 1, 4, 4)
			return tape.Attention(y, y, y, autograd.AttentionOptions{Heads: 2, Kind: device.Flash})
		}, low},
		"layer norm raises": {func(tape *autograd.Tape, h *autograd.Value) *autograd.Value {
			return tape.LayerNorm(h, row.Value(), nil, autograd.NormOptions{Eps: 1e-5})
		}, device.Float32},
		"rms norm raises": {func(tape *autograd.Tape, h *autograd.Value) *autograd.Value {
			return tape.RMSNorm(h, row.Value(), autograd.NormOptions{Eps: 1e-5})
		}, device.Float32},
		"softmax raises": {func(tape *autograd.Tape, h *autograd.Value) *autograd.Value { return tape.Softmax(h) }, device.Float32},
		"cross-entropy raises": {func(tape *autograd.Tape, h *autograd.Value) *autograd.Value {
			targets := tape.Take(tensor.From(d, []int32{0, 1, 2, 3}, tensor.Shape{4}, device.Int32, tensor.Tag{}))
			return tape.CrossEntropy(h, targets)
		}, device.Float32},
		"exp raises": {func(tape *autograd.Tape, h *autograd.Value) *autograd.Value {
			return tape.Unary(device.Exp, h)
		}, device.Float32},
		"sum raises":        {func(tape *autograd.Tape, h *autograd.Value) *autograd.Value { return tape.SumAll(h) }, device.Float32},
		"gelu keeps":        {func(tape *autograd.Tape, h *autograd.Value) *autograd.Value { return tape.GELU(h) }, low},
		"dropout keeps":     {func(tape *autograd.Tape, h *autograd.Value) *autograd.Value { return tape.Dropout(h, 0.5) }, low},
		"adding two halves": {func(tape *autograd.Tape, h *autograd.Value) *autograd.Value { return tape.Add(h, h) }, low},
		"adding promotes": {func(tape *autograd.Tape, h *autograd.Value) *autograd.Value {
			return tape.Add(h, x.Value())
		}, device.Float32},
		"embedding is left": {func(tape *autograd.Tape, _ *autograd.Value) *autograd.Value {
			ids := tape.Take(tensor.From(d, []int32{1, 2}, tensor.Shape{2}, device.Int32, tensor.Tag{}))
			return tape.Embedding(w.Value(), ids)
		}, device.Float32},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tape := autograd.NewTape(d, 0)
			tape.SetCaster(amp.BF16.Caster())
			tape.Run(func() {
				out := test.do(tape, tape.Cast(tape.Scale(x.Value(), 1), low))
				if out.DType() != test.want {
					t.Errorf("the result is %v, want %v", out.DType(), test.want)
				}
				tape.Backward(tape.SumAll(out))
			})
			for _, v := range []*autograd.Variable{x, w, row, image, kernel} {
				if g := v.Grad(); g != nil && g.DType() != device.Float32 {
					t.Errorf("a gradient of a float32 variable is %v", g.DType())
				}
				v.ZeroGrad()
			}
		})
	}
}

func TestHalfPrecisionHalvesActivations(t *testing.T) {
	measure := func(mode amp.Mode, dtype device.DType) int64 {
		r := newRunOf(t, dtype, nn.Options{Attention: nn.FlashAttention})
		r.c.SetCaster(mode.Caster())
		var bytes int64
		r.c.Run(func() {
			r.forward()
			bytes = r.category(trace.Activation)
		})
		return bytes
	}
	full := measure(amp.Off, device.Float32)
	tests := map[string]struct {
		bytes     int64
		low, high float64
	}{
		// Statistics of rows stay float32 in both, and with autocast so does the
		// residual stream that the normalisations read, as in PyTorch.
		"the whole model in bfloat16": {measure(amp.Off, device.BFloat16), 0.5, 0.52},
		"autocast to bfloat16":        {measure(amp.BF16, device.Float32), 0.5, 0.6},
		"autocast to float16":         {measure(amp.FP16, device.Float32), 0.5, 0.6},
	}
	for name, test := range tests {
		ratio := float64(test.bytes) / float64(full)
		t.Logf("%s: %d of %d bytes, %.3f", name, test.bytes, full, ratio)
		if ratio < test.low || ratio > test.high {
			t.Errorf("%s: %d of %d bytes, %.3f; want %v to %v", name, test.bytes, full, ratio, test.low, test.high)
		}
	}
}

func TestANormWritesWhatItsReaderWouldConvertTo(t *testing.T) {
	d := tensortest.Device(t)
	w := autograd.NewVariable("w", tensor.Full(d, tensor.Shape{3}, device.Float32, 0.7, tensor.Tag{}))
	defer w.Close()
	tape := autograd.NewTape(d, 0)
	for name, norm := range map[string]func(x *autograd.Value, o autograd.NormOptions) *autograd.Value{
		"layer norm": func(x *autograd.Value, o autograd.NormOptions) *autograd.Value {
			return tape.LayerNorm(x, w.Value(), w.Value(), o)
		},
		"rms norm": func(x *autograd.Value, o autograd.NormOptions) *autograd.Value { return tape.RMSNorm(x, w.Value(), o) },
	} {
		for _, mode := range []amp.Mode{amp.BF16, amp.FP16} {
			t.Run(name+" in "+mode.String(), func(t *testing.T) {
				tape.SetCaster(mode.Caster())
				tape.Run(func() {
					x := tape.Take(tensor.From(d, []float32{1, 2.1, 4.7, -3, 0.3, 1e-3}, tensor.Shape{2, 3}, device.Float32, tensor.Tag{}))
					known := norm(x, autograd.NormOptions{Eps: 1e-5, Reader: "linear"})
					low := known.DType()
					want := tape.Cast(norm(x, autograd.NormOptions{Eps: 1e-5}), low)
					if low.Size() != 2 || !slices.Equal(known.Data().Floats(), want.Data().Floats()) {
						t.Errorf("for a product: %v %v, want %v", low, known.Data().Floats(), want.Data().Floats())
					}
					if y := norm(known, autograd.NormOptions{Eps: 1e-5}); y.DType() != device.Float32 {
						t.Errorf("of %v, with an unknown reader: %v, want float32", low, y.DType())
					}
				})
			})
		}
	}
}

func TestTheGradientOfAConvertedWeightIsNotRounded(t *testing.T) {
	d := tensortest.Device(t)
	w := autograd.NewVariable("w", tensor.Full(d, tensor.Shape{1, 1}, device.Float32, 1, tensor.Tag{}))
	defer w.Close()
	tape := autograd.NewTape(d, 0)
	tape.SetCaster(amp.BF16.Caster())
	tape.Run(func() {
		x := tape.Take(tensor.From(d, []float32{1, 0x1p-12}, tensor.Shape{2, 1}, device.BFloat16, tensor.Tag{}))
		tape.Backward(tape.SumAll(tape.Linear(x, w.Value(), nil)))
	})
	if got, want := w.Grad().Floats()[0], 1+0x1p-12; got != want || w.Grad().DType() != device.Float32 {
		t.Errorf("the gradient is %v %v, want float32 %v", w.Grad().DType(), got, want)
	}
}

func TestAWeightIsConvertedOnceAStepAndAgainWhenItChanges(t *testing.T) {
	d := tensortest.Device(t)
	w := autograd.NewVariable("w", tensor.Full(d, tensor.Shape{2, 2}, device.Float32, 1, tensor.Tag{}))
	defer w.Close()
	tape := autograd.NewTape(d, 0)
	tape.SetCaster(amp.BF16.Caster())
	tape.Run(func() {
		x := tape.Take(tensor.Full(d, tensor.Shape{1, 2}, device.BFloat16, 1, tensor.Tag{}))
		before := d.Memory().Stats().Allocation.All.Allocated
		first := tape.Linear(x, w.Value(), nil)
		tape.Linear(x, w.Value(), nil)
		tape.NoGrad(func() { tape.Linear(x, w.Value(), nil) })
		if got := d.Memory().Stats().Allocation.All.Allocated - before; got != 4 {
			t.Errorf("three products made %d allocations, want three results and one copy", got)
		}
		w.Data().Fill(3)
		if got := tape.Linear(x, w.Value(), nil).Data().Floats()[0]; got != 6 {
			t.Errorf("after the weight became 3 the product is %v, want 6", got)
		}
		if got := first.Data().Floats()[0]; got != 2 {
			t.Errorf("the first product is %v, want 2", got)
		}
	})
}

func TestACheckpointDropsTheWeightsThatItConverted(t *testing.T) {
	converted := func(p nn.Policy) (afterForward, highest int64) {
		r := newRun(t, nn.Options{Checkpoint: p})
		defer r.zero()
		r.c.Run(func() {
			r.c.SetCaster(amp.BF16.Caster())
			out := r.forward()
			afterForward = r.device.Memory().Stats().Category[trace.Workspace].Current
			r.device.Memory().ResetPeak()
			r.c.Backward(out)
			highest = r.device.Memory().Stats().Category[trace.Workspace].Peak
		})
		return afterForward, highest
	}
	after, highest := converted(nn.PerBlock())
	whole, wholeHighest := converted(nn.Policy{})
	blocks := int64(config.Layers) * 12 * int64(config.Dim) * int64(config.Dim) * 2 // bytes of their products' weights
	if whole-after < blocks {
		t.Errorf("after the forward pass %d bytes of workspace with checkpoints and %d without, want %d fewer", after, whole, blocks)
	}
	if one := blocks / int64(config.Layers); wholeHighest-highest < blocks-2*one {
		t.Errorf("in the backward pass at most %d bytes of workspace with checkpoints and %d without, want all but one block's %d fewer", highest, wholeHighest, blocks)
	}
}
