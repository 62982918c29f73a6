package cpu

import "github.com/memtop/memtop/engine/device"

// runBytes takes a step with moments of eight bits. Parts and runs are multiples
// of device.QuantBlock.
func (j *updateJob) runBytes(w *worker, x *updated, part int) {
	runs(part, x.p.n, func(i, n int) {
		for ; n > 0; i, n = i+device.QuantBlock, n-device.QuantBlock {
			j.block(w, x, i, min(n, device.QuantBlock))
		}
	})
}

// block updates the n elements from i on, which share their scales.
func (j *updateJob) block(w *worker, x *updated, i, n int) {
	p, g := slice[float32](x.p, i, n), clipped[float32](w, j, x.g, i, n)
	m, v := scratch[float32](w, slotB, n), scratch[float32](w, slotC, n)
	codesM, codesV := slice[uint8](x.m, i, n), slice[uint8](x.v, i, n)
	scaleM := &slice[float32](x.scaleM, i/device.QuantBlock, 1)[0]
	scaleV := &slice[float32](x.scaleV, i/device.QuantBlock, 1)[0]
	signed, unsigned := quantizers()
	signed.decode(m, codesM, *scaleM)
	unsigned.decode(v, codesV, *scaleV)
	adamRun(j, p, g, m, v)
	*scaleM = signed.encode(codesM, m)
	*scaleV = unsigned.encode(codesV, v)
	if !x.low.absent() {
		narrow(x.low, i, p)
	}
}
