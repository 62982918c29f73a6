package cpu

import (
	"fmt"
	"math"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// updateJob is one step of a list of parameter arrays.
type updateJob struct {
	device.UpdatePlan
	list []updated
	shares
	// Adam's step size with the first bias correction in it, and the inverse
	// root of the second.
	size, root float64
	clip       float64 // what gradients are multiplied by
}

// updated is one of the list.
type updated struct {
	p, g, m, v, low view
	scaleM, scaleV  view
	first           bool
}

// Update implements device.Optimizers.
func (b *Backend) Update(u device.UpdatePlan) {
	if b.isSet("update", u.FoundInf) {
		return
	}
	j := &b.jobs.update
	j.UpdatePlan, j.list = u, j.list[:0]
	j.begin()
	for i := range u.List {
		x := &u.List[i]
		j.list = append(j.list, updated{
			p: b.resolve(x.P), g: b.resolve(x.G), m: b.resolve(x.M), v: b.resolve(x.V), low: b.resolve(x.Low),
			scaleM: b.resolve(x.ScaleM), scaleV: b.resolve(x.ScaleV), first: x.First,
		})
		j.add(parts(x.P.Len))
	}
	if !u.Step.Absent() {
		t := b.resolve(u.Step).number(0)
		j.size = u.LR / (1 - math.Pow(u.Beta1, t))
		j.root = 1 / math.Sqrt(1-math.Pow(u.Beta2, t))
	}
	j.clip = 1
	if !u.Norm.Absent() {
		if clip := u.Limit / (b.resolve(u.Norm).number(0) + 1e-6); !(clip >= 1) { // so also when it is NaN
			j.clip = clip
		}
	}
	b.pool.run(j, j.total())
	j.List = nil // the caller's
}

// isSet says whether a flag is given and not 0.
func (b *Backend) isSet(name string, flag device.Array) bool {
	device.CheckFlag(name, flag)
	return !flag.Absent() && b.resolve(flag).number(0) != 0
}

func (j *updateJob) run(w *worker, part int) {
	i, part := j.find(part)
	x := &j.list[i]
	switch {
	case j.Rule.InBytes():
		j.runBytes(w, x, part)
	case x.p.kind == device.Float64:
		updatePart[float64](w, j, x, part)
	default:
		updatePart[float32](w, j, x, part)
	}
}

func updatePart[T float](w *worker, j *updateJob, x *updated, part int) {
	runs(part, x.p.n, func(i, n int) {
		p, g := slice[T](x.p, i, n), clipped[T](w, j, x.g, i, n)
		switch j.Rule {
		case device.SGD:
			if x.m.absent() {
				plainSGD(p, g, T(j.LR), T(j.WeightDecay))
			} else {
				momentumSGD(j, p, g, slice[T](x.m, i, n), x.first)
			}
		case device.Adam, device.AdamW:
			adamRun(j, p, g, slice[T](x.m, i, n), slice[T](x.v, i, n))
		case device.Lion:
			lionRun(j, p, g, slice[T](x.m, i, n))
		default:
			panic(fmt.Sprintf("cpu: update: rule %v", j.Rule))
		}
		if !x.low.absent() {
			narrow(x.low, i, p)
		}
	})
}

// clipped returns n elements of a gradient, clipped.
func clipped[T float](w *worker, j *updateJob, gradient view, i, n int) []T {
	g := load[T](w, slotA, gradient, i, n)
	if j.clip == 1 {
		return g
	}
	scaled := scratch[T](w, slotD, n)
	multiplyRow(scaled, g, T(j.clip))
	return scaled
}

func plainSGD[T float](p, g []T, lr, decay T) {
	g = g[:len(p)]
	for i := range p {
		p[i] -= lr * (g[i] + decay*p[i])
	}
}

func momentumSGD[T float](j *updateJob, p, g, m []T, first bool) {
	lr, decay, momentum := T(j.LR), T(j.WeightDecay), T(j.Momentum)
	g, m = g[:len(p)], m[:len(p)]
	for i := range p {
		d := g[i] + decay*p[i]
		if first {
			m[i] = d
		} else {
			m[i] = momentum*m[i] + d
		}
		if j.Nesterov {
			d += momentum * m[i]
		} else {
			d = m[i]
		}
		p[i] -= lr * d
	}
}

func adamRun[T float](j *updateJob, p, g, m, v []T) {
	coupled, shrink := 0.0, 1-j.LR*j.WeightDecay
	if j.Rule == device.Adam {
		coupled, shrink = j.WeightDecay, 1.0
	}
	g, m, v = g[:len(p)], m[:len(p)], v[:len(p)]
	vector := simd.Adam{
		Coupled: float32(coupled), Beta1: float32(j.Beta1), Rest1: float32(1 - j.Beta1), Beta2: float32(j.Beta2),
		Rest2: float32(1 - j.Beta2), Root: float32(j.root), Eps: float32(j.Eps), Size: float32(j.size), Shrink: float32(shrink),
	}
	done := vector.Step(single(p), single(g), single(m), single(v))
	beta1, beta2, eps, size, root := T(j.Beta1), T(j.Beta2), T(j.Eps), T(j.size), T(j.root)
	rest1, rest2 := T(1-j.Beta1), T(1-j.Beta2)
	for i := done; i < len(p); i++ {
		d := g[i] + T(coupled)*p[i]
		a := beta1*m[i] + rest1*d
		s := beta2*v[i] + rest2*d*d
		m[i], v[i] = a, s
		p[i] = p[i]*T(shrink) - size*a/(sqrt(s)*root+eps)
	}
}

func lionRun[T float](j *updateJob, p, g, m []T) {
	lr, decay, beta1, beta2 := T(j.LR), T(j.WeightDecay), T(j.Beta1), T(j.Beta2)
	rest1, rest2 := T(1-j.Beta1), T(1-j.Beta2)
	g, m = g[:len(p)], m[:len(p)]
	for i := range p {
		p[i] -= lr * (sign(beta1*m[i]+rest1*g[i]) + decay*p[i])
		m[i] = beta2*m[i] + rest2*g[i]
	}
}

// AdvanceStep implements device.Optimizers.
func (b *Backend) AdvanceStep(step, foundInf device.Array) {
	device.CheckScalar("advance step", "step", step)
	if !b.isSet("advance step", foundInf) {
		s := b.resolve(step)
		s.setNumber(0, s.number(0)+1)
	}
}
