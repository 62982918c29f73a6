package cpu

import (
	"testing"

	"github.com/memtop/memtop/engine/device"
)

// BenchmarkStep has the operations of a training step of GPT-2 124M at batch 4,
// sequence 64, that are not products of matrices. The metric is nanoseconds per
// element; a step has, per operation, what the name says.
func BenchmarkStep(b *testing.B) {
	r := newRig(b, 2)
	const hidden, wide, classes, params = 256 * 768, 256 * 3072, 256 * 50257, 8 << 20
	draw := func(n int) device.Array {
		a := device.Array{Addr: r.next, Len: n}
		r.next += uint64(n)*4 + 512
		r.Normal(a, 0, 1, device.Seed{Seed: uint64(n)})
		return a
	}
	x, y, dy, bias := draw(wide), draw(wide), draw(wide), draw(3072)
	logits := draw(classes)
	p, g, m, v := draw(params), draw(params), draw(params), draw(params)
	r.Fill(v, 1)
	bench := func(name string, elements int, do func()) {
		b.Run(name, func(b *testing.B) {
			do()
			for b.Loop() {
				do()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(elements), "ns/element")
		})
	}
	bench("GELU, 12 times", wide, func() { r.Unary(device.GELUTanh, y, x) })
	bench("GELU backward, 12 times", wide, func() { r.UnaryBackward(device.GELUTanh, y, x, dy) })
	bench("add bias, 48 times", wide, func() { r.Binary(device.Add, y, x, bias) })
	bench("bias gradient, 48 times", wide, func() { r.Reduce(device.Sum, bias, x, 1, 256, 3072) })
	h := x.Slice(0, hidden)
	norm := device.Norm{
		Rows: 256, Cols: 768, Eps: 1e-5, X: h, Y: y.Slice(0, hidden), Weight: bias.Slice(0, 768), Bias: bias.Slice(768, 768),
		Mean: draw(256), RStd: draw(256),
	}
	bench("layer norm, 25 times", hidden, func() { r.Normalize(norm.Plan()) })
	back := device.NormBackward{N: norm, DY: dy.Slice(0, hidden), DX: y.Slice(0, hidden), DWeight: draw(768), DBias: draw(768)}
	bench("layer norm backward, 25 times", hidden, func() { r.NormalizeBackward(back.Plan()) })
	bench("dropout, 36 times", hidden, func() { r.Dropout(y.Slice(0, hidden), h, device.Array{}, 0.1, device.Seed{}) })
	entropy := newEntropy(r, device.Float32, device.Int64, make([]int, 256), 1)
	entropy.Classes, entropy.Logits = 50257, logits
	bench("cross entropy, once", classes, func() { r.CrossEntropy(entropy) })
	bench("cross entropy backward, once", classes, func() { r.CrossEntropyBackward(logits, entropy, bias.Slice(0, 1)) })
	one := draw(1)
	r.Fill(one, 1)
	adam := device.Update{
		Rule: device.AdamW, List: []device.Parameter{{P: p, G: g, M: m, V: v}}, LR: 1e-3, WeightDecay: 0.1, Step: one, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8,
	}
	bench("AdamW, 15 times", params, func() { r.Update(adam.Plan()) })
	adam8 := adam
	adam8.Rule, adam8.List = device.AdamW8, []device.Parameter{{
		P: p, G: g, ScaleM: draw(params / 256), ScaleV: draw(params / 256),
		M: device.ArrayOf(m.Buffer(), device.UInt8, params), V: device.ArrayOf(v.Buffer(), device.UInt8, params),
	}}
	bench("AdamW 8-bit, 15 times", params, func() { r.Update(adam8.Plan()) })
	bench("accumulate, 15 times", params, func() { r.AddScaled(p, p, g, 1e-9) })
	bench("norm2, 15 times", params, func() { r.Norm2(one, []device.Array{g}) })
	bench("scale, 15 times", params, func() { r.Scale(p, p, 1) })
	bench("fill, 15 times", params, func() { r.Fill(g, 0) })
	for _, kind := range attentionKinds {
		a := newAttentionCase(r, device.Float32, device.Attention{Kind: kind, Batch: 4, Heads: 12, Queries: 64, Keys: 64, Dim: 64, Causal: true})
		bench("attention "+kind.String()+", 12 times", hidden, func() { r.Attention(a.a.Plan()) })
		bench("attention "+kind.String()+" backward, 12 times", hidden, func() { r.AttentionBackward(a.g.Plan()) })
	}
}

// BenchmarkLongAttention is one head of 2,048 rows.
func BenchmarkLongAttention(b *testing.B) {
	for _, kind := range attentionKinds {
		b.Run(kind.String(), func(b *testing.B) {
			r := newRig(b, 2)
			a := newAttentionCase(r, device.Float32, device.Attention{Kind: kind, Batch: 1, Heads: 4, Queries: 2048, Keys: 2048, Dim: 64, Causal: true})
			for b.Loop() {
				r.Attention(a.a.Plan())
				r.AttentionBackward(a.g.Plan())
			}
		})
	}
}

func BenchmarkConvolution(b *testing.B) {
	shapes := map[string]device.Conv2D{
		"32 to 64 channels of 32×32":       {Batch: 8, InChannels: 32, OutChannels: 64, InHeight: 32, InWidth: 32},
		"3 to 16 of 32×32, every second":   {Batch: 32, InChannels: 3, OutChannels: 16, InHeight: 32, InWidth: 32, StrideHeight: 2, StrideWidth: 2},
		"64 to 128 of 16×16, every second": {Batch: 32, InChannels: 64, OutChannels: 128, InHeight: 16, InWidth: 16, StrideHeight: 2, StrideWidth: 2},
		"256 to 512 of 4×4, every second":  {Batch: 32, InChannels: 256, OutChannels: 512, InHeight: 4, InWidth: 4, StrideHeight: 2, StrideWidth: 2},
	}
	for name, shape := range shapes {
		r := newRig(b, 2)
		shape.KernelHeight, shape.KernelWidth, shape.PadHeight, shape.PadWidth = 3, 3, 1, 1
		c, g := newConv(r, device.Float32, shape)
		flops := 2 * float64(c.Y.Len) * float64(shape.InChannels*9)
		b.Run(name+"/forward", func(b *testing.B) {
			for b.Loop() {
				r.Conv2D(c.Plan())
			}
			b.ReportMetric(float64(b.N)*flops/1e9/b.Elapsed().Seconds(), "GFLOP/s")
		})
		b.Run(name+"/backward", func(b *testing.B) {
			for b.Loop() {
				r.Conv2DBackward(g.Plan())
			}
			b.ReportMetric(2*float64(b.N)*flops/1e9/b.Elapsed().Seconds(), "GFLOP/s")
		})
	}
}
