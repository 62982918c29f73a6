package cpu

import (
	"math"
	"sync/atomic"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// finiteJob multiplies gradients and looks for infinities and NaNs.
type finiteJob struct {
	list []view
	shares
	factor float64
	bad    atomic.Bool
}

// Unscale implements device.Scaling.
func (b *Backend) Unscale(gradients []device.Array, scale, foundInf device.Array) {
	device.CheckScalar("unscale", "found inf", foundInf)
	device.CheckScalar("unscale", "scale", scale)
	j := &b.jobs.finite
	j.list = b.listed("unscale", j.list, &j.shares, gradients)
	j.factor = 1 / b.resolve(scale).number(0)
	j.bad.Store(false)
	b.pool.run(j, j.total())
	if j.bad.Load() {
		b.resolve(foundInf).setNumber(0, 1)
	}
}

func (j *finiteJob) run(w *worker, part int) {
	i, part := j.find(part)
	x := j.list[i]
	if x.kind == device.Float64 {
		unscalePart[float64](w, j, x, part)
	} else {
		unscalePart[float32](w, j, x, part)
	}
}

// unscalePart uses that x−x is 0 for finite numbers only.
func unscalePart[T float](w *worker, j *finiteJob, v view, part int) {
	factor := T(j.factor)
	runs(part, v.n, func(i, n int) {
		x := load[T](w, slotA, v, i, n)
		var difference T
		finite, done := simd.Unscale(single(x), float32(factor))
		for k := done; k < n; k++ {
			difference += x[k] - x[k]
			x[k] *= factor
		}
		if !finite || difference != 0 {
			j.bad.Store(true)
		}
		store(v, i, x)
	})
}

// UpdateScale implements device.Scaling.
func (b *Backend) UpdateScale(scale, tracker, foundInf device.Array, growth, backoff float64, interval int) {
	device.CheckScalar("update scale", "scale", scale)
	device.CheckScalar("update scale", "tracker", tracker)
	s, t := b.resolve(scale), b.resolve(tracker)
	if b.isSet("update scale", foundInf) {
		s.setNumber(0, s.number(0)*backoff)
		t.setNumber(0, 0)
		return
	}
	good := t.number(0) + 1
	if good >= float64(interval) {
		good = 0
		if grown := float32(s.number(0) * growth); !math.IsInf(float64(grown), 0) {
			s.setNumber(0, float64(grown))
		}
	}
	t.setNumber(0, good)
}
