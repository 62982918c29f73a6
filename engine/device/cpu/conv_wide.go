package cpu

import "github.com/memtop/memtop/engine/device"

// Convolutions in float64, for gradient checks: products of one group of one
// image after the other, each unfolded as a whole.

// convWide computes p.
func (b *Backend) convWide(p device.ConvPlan) {
	w := b.pool.workers[0]
	b.eachGroup(w, &p, func(image, group int, unfolded view) {
		y := b.resolve(p.Output(p.Y, device.Band{Image: image, Group: group}))
		size := unfolded.n / p.Unfolded
		for o := range p.OutGroup {
			bias := 0.0
			if !p.Bias.Absent() {
				bias = b.resolve(p.Bias).number(group*p.OutGroup + o)
			}
			channel := slice[float64](y, o*size, size)
			for i := range channel {
				channel[i] = bias
			}
		}
		multiplyWide(w, &product{
			c: y, a: b.resolve(p.GroupWeights(p.Weight, group)), b: unfolded, alpha: 1, beta: 1,
			m: p.OutGroup, n: size, k: p.Unfolded, lda: p.Unfolded, ldb: size, ldc: size,
		}, 0, p.OutGroup)
	})
}

// eachGroup calls f with each image's group unfolded, Unfolded × places, which f may
// change.
func (b *Backend) eachGroup(w *worker, p *device.ConvPlan, f func(image, group int, unfolded view)) {
	size, pixels := p.OutRows*p.OutColumns, p.InHeight*p.InWidth
	taps := b.jobs.conv.taps
	for image := range p.Batch {
		for group := range p.Groups {
			x := slice[float64](b.resolve(p.Input(p.X, device.Band{Image: image, Group: group})), 0, p.ImageElements())
			unfolded := scratch[float64](w, slotUnfolded, p.Unfolded*size)
			for k := range p.Unfolded {
				unfoldTap(p, &taps[k%len(taps)], unfolded[k*size:(k+1)*size], x[k/len(taps)*pixels:(k/len(taps)+1)*pixels], 0, 0)
			}
			f(image, group, viewOf(unfolded))
		}
	}
}

// convGradWide computes g.
func (b *Backend) convGradWide(g *device.ConvBackwardPlan) {
	_, _, sums := g.Scratch()
	dweight := sums.Slice(0, g.OutChannels*g.Unfolded)
	b.Fill(dweight, 0)
	w := b.pool.workers[0]
	b.eachGroup(w, &g.ConvPlan, func(image, group int, unfolded view) {
		size := unfolded.n / g.Unfolded
		dy := b.resolve(g.Output(g.DY, device.Band{Image: image, Group: group}))
		multiplyWide(w, &product{
			c: b.resolve(g.GroupWeights(dweight, group)), a: dy, b: unfolded, transB: true, alpha: 1, beta: 1,
			m: g.OutGroup, n: g.Unfolded, k: size, lda: size, ldb: size, ldc: g.Unfolded,
		}, 0, g.OutGroup)
		if g.DX.Absent() {
			return
		}
		multiplyWide(w, &product{
			c: unfolded, a: b.resolve(g.GroupWeights(g.Weight, group)), transA: true, b: dy, alpha: 1,
			m: g.Unfolded, n: size, k: g.OutGroup, lda: g.Unfolded, ldb: size, ldc: size,
		}, 0, g.Unfolded)
		b.foldWide(w, g, image, group, slice[float64](unfolded, 0, unfolded.n))
	})
	if !g.DWeight.Absent() {
		b.Cast(g.DWeight, dweight)
	}
	if !g.DBias.Absent() {
		b.convBiasGrad(g, sums)
	}
}

// foldWide sets an image's group of dx from the gradients of its places.
func (b *Backend) foldWide(w *worker, g *device.ConvBackwardPlan, image, group int, unfolded []float64) {
	size, pixels, taps := g.OutRows*g.OutColumns, g.InHeight*g.InWidth, b.jobs.conv.taps
	dx := scratch[float64](w, slotD, g.ImageElements())
	clear(dx)
	for k := range g.Unfolded {
		foldTap(&g.ConvPlan, &taps[k%len(taps)], dx[k/len(taps)*pixels:(k/len(taps)+1)*pixels], unfolded[k*size:(k+1)*size], 0, g.OutRows)
	}
	narrow(b.resolve(g.Input(g.DX, device.Band{Image: image, Group: group})), 0, dx)
}
