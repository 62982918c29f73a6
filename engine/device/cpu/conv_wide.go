package cpu

import "memtop/engine/device"

// Convolutions in float64, for gradient checks: plain loops over one image's group
// after the other, unfolded whole.

// convWide computes p.
func (b *Backend) convWide(p device.ConvPlan) {
	w := b.pool.workers[0]
	size := p.OutRows * p.OutColumns
	b.eachGroup(w, &p, func(image, group int, unfolded []float64) {
		weight := load[float64](w, slotB, b.resolve(p.GroupWeights(p.Weight, group)), 0, p.OutGroup*p.Unfolded)
		y := b.resolve(p.Output(p.Y, device.Band{Image: image, Group: group}))
		for o := range p.OutGroup {
			sums := scratch[float64](w, slotC, size)
			clear(sums)
			if !p.Bias.Absent() {
				bias := b.resolve(p.Bias).number(group*p.OutGroup + o)
				for i := range sums {
					sums[i] = bias
				}
			}
			for k, x := range weight[o*p.Unfolded : (o+1)*p.Unfolded] {
				for i, v := range unfolded[k*size : (k+1)*size] {
					sums[i] += x * v
				}
			}
			narrow(y, o*size, sums)
		}
	})
}

// eachGroup calls f with each image's group unfolded, Unfolded × places.
func (b *Backend) eachGroup(w *worker, p *device.ConvPlan, f func(image, group int, unfolded []float64)) {
	size, taps, pixels := p.OutRows*p.OutColumns, p.KernelHeight*p.KernelWidth, p.InHeight*p.InWidth
	for image := range p.Batch {
		for group := range p.Groups {
			x := load[float64](w, slotA, b.resolve(p.Input(p.X, device.Band{Image: image, Group: group})), 0, p.ImageElements())
			unfolded := scratch[float64](w, slotUnfolded, p.Unfolded*size)
			for k := range p.Unfolded {
				unfoldTap(p, unfolded[k*size:(k+1)*size], x[k/taps*pixels:(k/taps+1)*pixels], k%taps, 0, p.OutRows)
			}
			f(image, group, unfolded)
		}
	}
}

// convGradWide computes g.
func (b *Backend) convGradWide(g *device.ConvBackwardPlan) {
	w := b.pool.workers[0]
	p := &g.ConvPlan
	size, taps, pixels := p.OutRows*p.OutColumns, p.KernelHeight*p.KernelWidth, p.InHeight*p.InWidth
	if !g.DWeight.Absent() {
		b.Fill(g.DWeight, 0)
	}
	b.eachGroup(w, p, func(image, group int, unfolded []float64) {
		dy := load[float64](w, slotB, b.resolve(p.Output(g.DY, device.Band{Image: image, Group: group})), 0, p.OutGroup*size)
		weight := load[float64](w, slotC, b.resolve(p.GroupWeights(p.Weight, group)), 0, p.OutGroup*p.Unfolded)
		if !g.DWeight.Absent() {
			dweight := b.resolve(p.GroupWeights(g.DWeight, group))
			for i := range p.OutGroup * p.Unfolded {
				o, k := i/p.Unfolded, i%p.Unfolded
				dweight.setNumber(i, dweight.number(i)+dot(dy[o*size:(o+1)*size], unfolded[k*size:(k+1)*size]))
			}
		}
		if g.DX.Absent() {
			return
		}
		dx := scratch[float64](w, slotD, p.ImageElements())
		seen := scratch[float64](w, slotE, size)
		clear(dx)
		for k := range p.Unfolded {
			clear(seen)
			for o := range p.OutGroup {
				for i, v := range dy[o*size : (o+1)*size] {
					seen[i] += weight[o*p.Unfolded+k] * v
				}
			}
			foldTap(p, dx[k/taps*pixels:(k/taps+1)*pixels], seen, k%taps, 0, p.OutRows)
		}
		narrow(b.resolve(p.Input(g.DX, device.Band{Image: image, Group: group})), 0, dx)
	})
	if !g.DBias.Absent() {
		_, _, sums := g.Scratch()
		b.convBiasGrad(g, sums)
	}
}
