package cpu

import "memtop/engine/device"

// runBytes takes a step with moments of eight bits. Parts and runs are multiples
// of device.QuantBlock.
func (j *updateJob) runBytes(w *worker, part int) {
	runs(part, j.p.n, func(i, n int) {
		for ; n > 0; i, n = i+device.QuantBlock, n-device.QuantBlock {
			j.block(w, i, min(n, device.QuantBlock))
		}
	})
}

// block updates the n elements from i on, which share their scales.
func (j *updateJob) block(w *worker, i, n int) {
	p, g := slice[float32](j.p, i, n), load[float32](w, slotA, j.g, i, n)
	m, v := scratch[float32](w, slotB, n), scratch[float32](w, slotC, n)
	codesM, codesV := slice[uint8](j.m, i, n), slice[uint8](j.v, i, n)
	scaleM := &slice[float32](j.scaleM, i/device.QuantBlock, 1)[0]
	scaleV := &slice[float32](j.scaleV, i/device.QuantBlock, 1)[0]
	signed, unsigned := quantizers()
	signed.decode(m, codesM, *scaleM)
	unsigned.decode(v, codesV, *scaleV)
	adamRun(j, p, g, m, v)
	*scaleM = signed.encode(codesM, m)
	*scaleV = unsigned.encode(codesV, v)
	if !j.low.absent() {
		narrow(j.low, i, p)
	}
}
