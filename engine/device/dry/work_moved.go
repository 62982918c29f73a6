package dry

import "memtop/engine/device"

// Copy counts bytes.
func (m *Meter) Copy(dst, src device.Buffer) { m.Work[Moved] += float64(dst.Bytes + src.Bytes) }

// Fill counts bytes.
func (m *Meter) Fill(dst device.Array, _ float64) { m.move(Moved, dst) }

// Unary counts bytes.
func (m *Meter) Unary(_ device.UnaryOp, dst, x device.Array) { m.move(Moved, dst, x) }

// UnaryBackward counts bytes.
func (m *Meter) UnaryBackward(_ device.UnaryOp, dx, x, dy device.Array) { m.move(Moved, dx, x, dy) }

// Binary counts bytes.
func (m *Meter) Binary(_ device.BinaryOp, dst, a, b device.Array) { m.move(Moved, dst, a, b) }

// AddScaled counts bytes.
func (m *Meter) AddScaled(dst, a, b device.Array, _ float64) { m.move(Moved, dst, a, b) }

// Scale counts bytes.
func (m *Meter) Scale(dst, x device.Array, _ float64) { m.move(Moved, dst, x) }

// ScaleBy counts bytes.
func (m *Meter) ScaleBy(dst, x, factor device.Array) { m.move(Moved, dst, x, factor) }

// CopyStrided counts bytes.
func (m *Meter) CopyStrided(dst, _ device.Strided, shape []int) {
	n := 2
	for _, size := range shape {
		n *= size
	}
	m.Work[Operations]++
	m.Work[Moved] += float64(int64(n) * dst.Base.DType.Size())
}

// Reduce counts bytes.
func (m *Meter) Reduce(_ device.Reduction, dst, src device.Array, _, _, _ int) {
	m.move(Moved, dst, src)
}

// Norm2 counts bytes.
func (m *Meter) Norm2(_ device.Array, list []device.Array) { m.move(Moved, list...) }

// Dropout counts bytes.
func (m *Meter) Dropout(y, x, mask device.Array, _ float64, _ device.Seed) { m.move(Moved, y, x, mask) }

// DropoutBackward counts bytes.
func (m *Meter) DropoutBackward(dx, dy, mask device.Array, _ float64) { m.move(Moved, dx, dy, mask) }

// Normalize counts bytes.
func (m *Meter) Normalize(p device.NormPlan) { m.move(Moved, p.X, p.Y) }

// NormalizeBackward counts bytes.
func (m *Meter) NormalizeBackward(p device.NormBackwardPlan) { m.move(Moved, p.X, p.DY, p.DX) }

// Softmax counts bytes.
func (m *Meter) Softmax(y, x device.Array, _, _ int) { m.move(Moved, y, x) }

// SoftmaxBackward counts bytes.
func (m *Meter) SoftmaxBackward(dx, y, dy device.Array, _, _ int) { m.move(Moved, dx, y, dy) }

// CrossEntropy counts bytes.
func (m *Meter) CrossEntropy(c device.CrossEntropy) { m.move(Moved, c.Logits) }

// CrossEntropyBackward counts bytes.
func (m *Meter) CrossEntropyBackward(dlogits device.Array, c device.CrossEntropy, _ device.Array) {
	m.move(Moved, dlogits, c.Logits)
}

// Gather counts bytes.
func (m *Meter) Gather(dst, _, ids device.Array, _, _ int) { m.move(Moved, dst, dst, ids) }

// ScatterAdd counts bytes.
func (m *Meter) ScatterAdd(_, src, ids device.Array, _, _ int) { m.move(Moved, src, src, ids) }

// Unscale counts bytes.
func (m *Meter) Unscale(gradients []device.Array, _, _ device.Array) {
	m.move(Moved, gradients...)
	m.move(Moved, gradients...)
}

// ClipByNorm counts bytes.
func (m *Meter) ClipByNorm(gradients []device.Array, _ device.Array, _ float64) {
	m.move(Moved, gradients...)
	m.move(Moved, gradients...)
}
