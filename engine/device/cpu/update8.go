package cpu

import (
	"fmt"

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
