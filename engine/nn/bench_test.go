package nn_test

import (
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// BenchmarkCheckpointing measures what checkpoints save and cost on a GPT of 12
// layers, width 256 and 256 tokens: bytes saved after the forward pass, and the
// time of both passes.
func BenchmarkCheckpointing(b *testing.B) {
	for _, text := range []string{"none", "block", "sqrt", "ratio=0.5", "selective"} {
		b.Run(text, func(b *testing.B) {
			p, err := nn.ParsePolicy(text)
			if err != nil {
				b.Fatal(err)
			}
			g := nn.GPTConfig{Layers: 12, Dim: 256, Heads: 8, Context: 256, Vocab: 256, Bias: true}
			d := tensortest.DeviceOf(b, 2<<30)
			model, err := nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.GPT { return nn.NewGPT(b, g) })
			if err != nil {
				b.Fatal(err)
			}
			defer nn.Close(model)
			c := nn.NewCtx(autograd.NewTape(d, 1), nn.Options{Training: true, Checkpoint: p})
			loss := &nn.CrossEntropy{}
			ids := make([]int32, 2*256)
			for i := range ids {
				ids[i] = int32(i * i % 256)
			}
			var saved int64
			for b.Loop() {
				c.Run(func() {
					x := c.Take(tensor.From(d, ids, tensor.Shape{2, 256}, device.Int32, tensor.Tag{Category: trace.Input}))
					out := c.Call(loss, c.Call(model, x), x)
					saved = d.Memory().Stats().Category[trace.Activation].Current
					c.Backward(out)
				})
				for _, p := range nn.Params(model) {
					p.ZeroGrad()
				}
			}
			b.ReportMetric(float64(saved), "activation-bytes")
			b.ReportMetric(float64(b.Elapsed()/time.Millisecond)/float64(b.N), "ms/step")
		})
	}
}
