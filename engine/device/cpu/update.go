package cpu

import (
	"fmt"
	"math"

	"memtop/engine/device"
	"memtop/engine/device/cpu/simd"
)

// rule names the arithmetic of an optimizer.
type rule uint8

const (
	ruleSGD rule = iota
	ruleAdam
	ruleAdamW
	ruleLion
)

// updateJob is one step of one parameter array.
type updateJob struct {
	rule            rule
	p, g, m, v, low view
	lr, decay       float64
	beta1, beta2    float64
	eps             float64
	// Adam's step size with the first bias correction in it, and the inverse
	// root of the second.
	size, root         float64
	momentum, undamped float64
	nesterov, first    bool
	wide               bool
}

// start resolves what all optimizers share. It returns false when the update is
// to be skipped.
func (b *Backend) start(name string, u device.Update) (updateJob, bool) {
	if u.P.DType != device.Float32 && u.P.DType != device.Float64 {
		panic(fmt.Sprintf("cpu: %s: parameters of type %v, want float32", name, u.P.DType))
	}
	requireFloat(name, u.G.DType, u.Low.DType)
	j := updateJob{
		p: b.view(name, "parameters", u.P, u.P.Len), g: b.view(name, "gradient", u.G, u.P.Len),
		low: b.optional(name, "low precision copy", u.Low, u.P.Len), lr: u.LR, decay: u.WeightDecay,
		wide: u.P.DType == device.Float64,
	}
	return j, !b.isSet(name, u.FoundInf)
}

// isSet says whether a flag is given and not 0.
func (b *Backend) isSet(name string, flag device.Array) bool {
	return !flag.Absent() && b.scalar(name, "found inf", flag).number(0) != 0
}

// scalar resolves one float32.
func (b *Backend) scalar(operation, name string, a device.Array) view {
	if a.DType != device.Float32 {
		panic(fmt.Sprintf("cpu: %s: %s is %v, want one float32", operation, name, a))
	}
	return b.view(operation, name, a, 1)
}

// state resolves an array that is laid out as the parameters are.
func (b *Backend) state(operation, name string, a device.Array, p view) view {
	if a.DType != p.kind {
		panic(fmt.Sprintf("cpu: %s: %s of type %v for parameters of %v", operation, name, a.DType, p.kind))
	}
	return b.view(operation, name, a, p.n)
}

// SGD implements device.Optimizers.
func (b *Backend) SGD(u device.SGD) {
	j, ok := b.start("sgd", u.Update)
	j.rule, j.momentum, j.undamped, j.nesterov, j.first = ruleSGD, u.Momentum, 1-u.Dampening, u.Nesterov, u.First
	if u.Momentum != 0 {
		j.m = b.state("sgd", "momentum", u.M, j.p)
	}
	b.update(j, ok)
}

// Adam implements device.Optimizers.
func (b *Backend) Adam(u device.Adam) { b.adam("adam", ruleAdam, u) }

// AdamW implements device.Optimizers.
func (b *Backend) AdamW(u device.Adam) { b.adam("adamw", ruleAdamW, u) }

func (b *Backend) adam(name string, r rule, u device.Adam) {
	j, ok := b.start(name, u.Update)
	j.rule, j.beta1, j.beta2, j.eps = r, u.Beta1, u.Beta2, u.Eps
	j.m, j.v = b.state(name, "first moment", u.M, j.p), b.state(name, "second moment", u.V, j.p)
	j.correct(b.scalar(name, "step", u.Step).number(0))
	b.update(j, ok)
}

// correct sets the bias corrections of step t.
func (j *updateJob) correct(t float64) {
	j.size = j.lr / (1 - math.Pow(j.beta1, t))
	j.root = 1 / math.Sqrt(1-math.Pow(j.beta2, t))
}

// Lion implements device.Optimizers.
func (b *Backend) Lion(u device.Lion) {
	j, ok := b.start("lion", u.Update)
	j.rule, j.beta1, j.beta2 = ruleLion, u.Beta1, u.Beta2
	j.m = b.state("lion", "momentum", u.M, j.p)
	b.update(j, ok)
}

func (b *Backend) update(j updateJob, ok bool) {
	if ok {
		b.jobs.update = j
		b.pool.run(&b.jobs.update, parts(j.p.n))
	}
}

func (j *updateJob) run(w *worker, part int) {
	if j.wide {
		updatePart[float64](w, j, part)
	} else {
		updatePart[float32](w, j, part)
	}
}

func updatePart[T float](w *worker, j *updateJob, part int) {
	runs(part, j.p.n, func(i, n int) {
		p, g := slice[T](j.p, i, n), load[T](w, slotA, j.g, i, n)
		switch j.rule {
		case ruleSGD:
			if j.m.absent() {
				plainSGD(p, g, T(j.lr), T(j.decay))
			} else {
				momentumSGD(j, p, g, slice[T](j.m, i, n))
			}
		case ruleAdam, ruleAdamW:
			adamRun(j, p, g, slice[T](j.m, i, n), slice[T](j.v, i, n))
		case ruleLion:
			lionRun(j, p, g, slice[T](j.m, i, n))
		}
		if !j.low.absent() {
			narrow(j.low, i, p)
		}
	})
}

func plainSGD[T float](p, g []T, lr, decay T) {
	g = g[:len(p)]
	for i := range p {
		p[i] -= lr * (g[i] + decay*p[i])
	}
}

func momentumSGD[T float](j *updateJob, p, g, m []T) {
	lr, decay, momentum, undamped := T(j.lr), T(j.decay), T(j.momentum), T(j.undamped)
	g, m = g[:len(p)], m[:len(p)]
	for i := range p {
		d := g[i] + decay*p[i]
		if j.first {
			m[i] = d
		} else {
			m[i] = momentum*m[i] + undamped*d
		}
		if j.nesterov {
			d += momentum * m[i]
		} else {
			d = m[i]
		}
		p[i] -= lr * d
	}
}

func adamRun[T float](j *updateJob, p, g, m, v []T) {
	coupled, shrink := j.decay, 1.0
	if j.rule == ruleAdamW {
		coupled, shrink = 0, 1-j.lr*j.decay
	}
	g, m, v = g[:len(p)], m[:len(p)], v[:len(p)]
	vector := simd.Adam{
		Coupled: float32(coupled), Beta1: float32(j.beta1), Rest1: float32(1 - j.beta1), Beta2: float32(j.beta2),
		Rest2: float32(1 - j.beta2), Root: float32(j.root), Eps: float32(j.eps), Size: float32(j.size), Shrink: float32(shrink),
	}
	done := vector.Step(single(p), single(g), single(m), single(v))
	beta1, beta2, eps, size, root := T(j.beta1), T(j.beta2), T(j.eps), T(j.size), T(j.root)
	rest1, rest2 := T(1-j.beta1), T(1-j.beta2)
	for i := done; i < len(p); i++ {
		d := g[i] + T(coupled)*p[i]
		a := beta1*m[i] + rest1*d
		s := beta2*v[i] + rest2*d*d
		m[i], v[i] = a, s
		p[i] = p[i]*T(shrink) - size*a/(sqrt(s)*root+eps)
	}
}

func lionRun[T float](j *updateJob, p, g, m []T) {
	lr, decay, beta1, beta2 := T(j.lr), T(j.decay), T(j.beta1), T(j.beta2)
	rest1, rest2 := T(1-j.beta1), T(1-j.beta2)
	g, m = g[:len(p)], m[:len(p)]
	for i := range p {
		p[i] -= lr * (sign(beta1*m[i]+rest1*g[i]) + decay*p[i])
		m[i] = beta2*m[i] + rest2*g[i]
	}
}

// AdvanceStep implements device.Optimizers.
func (b *Backend) AdvanceStep(step, foundInf device.Array) {
	if !b.isSet("advance step", foundInf) {
		s := b.scalar("advance step", "step", step)
		s.setNumber(0, s.number(0)+1)
	}
}
