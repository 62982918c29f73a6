package cpu

import (
	"fmt"
	"sync"

	"memtop/engine/device"
)

// update8Job is a step of AdamW with moments of eight bits. Parts and runs are
// multiples of device.QuantBlock.
type update8Job struct {
	updateJob
	scaleM, scaleV view
}

// AdamW8 implements device.Optimizers.
func (b *Backend) AdamW8(u device.Adam8) {
	const name = "adamw 8-bit"
	if u.P.DType != device.Float32 || u.M.DType != device.UInt8 || u.V.DType != device.UInt8 ||
		u.ScaleM.DType != device.Float32 || u.ScaleV.DType != device.Float32 {
		panic(fmt.Sprintf("cpu: %s: parameters %v, moments %v and %v, scales %v and %v", name, u.P, u.M, u.V, u.ScaleM, u.ScaleV))
	}
	j, ok := b.start(name, u.Update)
	j.beta1, j.beta2, j.eps = u.Beta1, u.Beta2, u.Eps
	j.m, j.v = b.view(name, "first moment", u.M, j.p.n), b.view(name, "second moment", u.V, j.p.n)
	j.correct(b.scalar(name, "step", u.Step).number(0))
	blocks := (j.p.n + device.QuantBlock - 1) / device.QuantBlock
	b.jobs.update8 = update8Job{
		j, b.view(name, "scales of the first moment", u.ScaleM, blocks), b.view(name, "scales of the second moment", u.ScaleV, blocks),
	}
	if ok {
		b.pool.run(&b.jobs.update8, parts(j.p.n))
	}
}

func (j *update8Job) run(w *worker, part int) {
	runs(part, j.p.n, func(i, n int) {
		for ; n > 0; i, n = i+device.QuantBlock, n-device.QuantBlock {
			j.block(w, i, min(n, device.QuantBlock))
		}
	})
}

// block updates the n elements from i on, which share their scales.
func (j *update8Job) block(w *worker, i, n int) {
	p, g := slice[float32](j.p, i, n), load[float32](w, slotA, j.g, i, n)
	m, v := scratch[float32](w, slotB, n), scratch[float32](w, slotC, n)
	codesM, codesV := slice[uint8](j.m, i, n), slice[uint8](j.v, i, n)
	scaleM := &slice[float32](j.scaleM, i/device.QuantBlock, 1)[0]
	scaleV := &slice[float32](j.scaleV, i/device.QuantBlock, 1)[0]
	signed, unsigned := quantizers()
	signed.decode(m, codesM, *scaleM)
	unsigned.decode(v, codesV, *scaleV)
	u := j.updateJob
	u.rule = ruleAdamW
	adamRun(&u, p, g, m, v)
	*scaleM = signed.encode(codesM, m)
	*scaleV = unsigned.encode(codesV, v)
	if !j.low.absent() {
		narrow(j.low, i, p)
	}
}

// quantizer turns numbers into codes of one of the maps and back.
type quantizer struct {
	values [256]float32
	// first is, for every one of a number of equal intervals of [-1, 1], the
	// lowest code that a number in it may get: where to start the search.
	first [quantIntervals + 1]uint8
}

const quantIntervals = 4096

var quantizers = sync.OnceValues(func() (signed, unsigned *quantizer) {
	return newQuantizer(true), newQuantizer(false)
})

func newQuantizer(signed bool) *quantizer {
	q := &quantizer{values: device.QuantMap(signed)}
	for i := range q.first {
		low := float32(i)*(2.0/quantIntervals) - 1
		code := uint8(0)
		for code < 255 && q.nextIsNearer(code, low) {
			code++
		}
		q.first[i] = code
	}
	return q
}

// nextIsNearer says whether the value after code is nearer to x. Of two equally
// near values the lower is taken.
func (q *quantizer) nextIsNearer(code uint8, x float32) bool {
	return x-q.values[code] > q.values[code+1]-x
}

func (q *quantizer) nearest(x float32) uint8 {
	code := q.first[int((x+1)*(quantIntervals/2))]
	for code < 255 && q.nextIsNearer(code, x) {
		code++
	}
	return code
}

func (q *quantizer) decode(x []float32, codes []uint8, scale float32) {
	for i, code := range codes {
		x[i] = q.values[code] * scale
	}
}

// encode writes the codes of x and returns their scale, the largest magnitude.
// With a scale of 0, infinity or NaN there is nothing to divide by: all codes
// are those of 0.
func (q *quantizer) encode(codes []uint8, x []float32) float32 {
	scale := float32(0)
	for _, v := range x {
		scale = max(scale, v, -v)
	}
	inverse := 1 / scale
	if !(inverse > 0 && inverse < maxFloat32) {
		zero := q.nearest(0)
		for i := range codes {
			codes[i] = zero
		}
		return scale
	}
	for i, v := range x {
		codes[i] = q.nearest(min(1, max(-1, v*inverse)))
	}
	return scale
}

const maxFloat32 = 0x1p127 * (1 + (1 - 0x1p-23))
