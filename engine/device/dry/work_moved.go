package dry

import "github.com/memtop/memtop/engine/device"

// Copy counts bytes.
func (m *Meter) Copy(dst, src device.Buffer) {
	m.Work[Moved] += float64(dst.Bytes + src.Bytes)
	m.Backend.Copy(dst, src)
}

// Fill counts bytes.
func (m *Meter) Fill(dst device.Array, value float64) {
	m.move(Moved, dst)
	m.Backend.Fill(dst, value)
}

// Unary counts bytes.
func (m *Meter) Unary(op device.UnaryOp, dst, x device.Array) {
	m.move(Moved, dst, x)
	m.Backend.Unary(op, dst, x)
}

// UnaryBackward counts bytes.
func (m *Meter) UnaryBackward(op device.UnaryOp, dx, x, dy device.Array) {
	m.move(Moved, dx, x, dy)
	m.Backend.UnaryBackward(op, dx, x, dy)
}

// Binary counts bytes.
func (m *Meter) Binary(op device.BinaryOp, dst, a, b device.Array) {
	m.move(Moved, dst, a, b)
	m.Backend.Binary(op, dst, a, b)
}

// AddScaled counts bytes.
func (m *Meter) AddScaled(dst, a, b device.Array, alpha float64) {
	m.move(Moved, dst, a, b)
	m.Backend.AddScaled(dst, a, b, alpha)
}

// Scale counts bytes.
func (m *Meter) Scale(dst, x device.Array, factor float64) {
	m.move(Moved, dst, x)
	m.Backend.Scale(dst, x, factor)
}

// ScaleBy counts bytes.
func (m *Meter) ScaleBy(dst, x, factor device.Array) {
	m.move(Moved, dst, x, factor)
	m.Backend.ScaleBy(dst, x, factor)
}

// CopyStrided counts bytes.
func (m *Meter) CopyStrided(dst, src device.Strided, shape []int) {
	n := 2
	for _, size := range shape {
		n *= size
	}
	m.Work[Operations]++
	m.Work[Moved] += float64(int64(n) * dst.Base.DType.Size())
	m.Backend.CopyStrided(dst, src, shape)
}

// Reduce counts bytes.
func (m *Meter) Reduce(r device.Reduction, dst, src device.Array, outer, n, inner int) {
	m.move(Moved, dst, src)
	m.Backend.Reduce(r, dst, src, outer, n, inner)
}

// Norm2 counts bytes.
func (m *Meter) Norm2(dst device.Array, list []device.Array) {
	m.move(Moved, list...)
	m.Backend.Norm2(dst, list)
}

// AddSquares counts bytes.
func (m *Meter) AddSquares(sum device.Array, list []device.Array) {
	m.move(Moved, list...)
	m.Backend.AddSquares(sum, list)
}

// Dropout counts bytes.
func (m *Meter) Dropout(y, x, mask device.Array, p float64, seed device.Seed) {
	m.move(Moved, y, x, mask)
	m.Backend.Dropout(y, x, mask, p, seed)
}

// DropoutBackward counts bytes.
func (m *Meter) DropoutBackward(dx, dy, mask device.Array, p float64) {
	m.move(Moved, dx, dy, mask)
	m.Backend.DropoutBackward(dx, dy, mask, p)
}

// Normalize counts bytes.
func (m *Meter) Normalize(p device.NormPlan) {
	m.move(Moved, p.X, p.Residual, p.Sum, p.Y)
	m.Backend.Normalize(p)
}

// NormalizeBackward counts bytes.
func (m *Meter) NormalizeBackward(p device.NormBackwardPlan) {
	m.move(Moved, p.X, p.DY, p.Add, p.DX, p.Low)
	m.Backend.NormalizeBackward(p)
}

// Softmax counts bytes.
func (m *Meter) Softmax(y, x device.Array, rows, cols int) {
	m.move(Moved, y, x)
	m.Backend.Softmax(y, x, rows, cols)
}

// SoftmaxBackward counts bytes.
func (m *Meter) SoftmaxBackward(dx, y, dy device.Array, rows, cols int) {
	m.move(Moved, dx, y, dy)
	m.Backend.SoftmaxBackward(dx, y, dy, rows, cols)
}

// CrossEntropy counts bytes.
func (m *Meter) CrossEntropy(c device.CrossEntropy) {
	m.move(Moved, c.Logits)
	m.Backend.CrossEntropy(c)
}

// CrossEntropyBackward counts bytes.
func (m *Meter) CrossEntropyBackward(dlogits device.Array, c device.CrossEntropy, dloss device.Array) {
	m.move(Moved, dlogits, c.Logits)
	m.Backend.CrossEntropyBackward(dlogits, c, dloss)
}

// Gather counts bytes.
func (m *Meter) Gather(dst, table, ids device.Array, rows, cols int) {
	m.move(Moved, dst, dst, ids)
	m.Backend.Gather(dst, table, ids, rows, cols)
}

// ScatterAdd counts bytes.
func (m *Meter) ScatterAdd(table, src, ids device.Array, rows, cols int) {
	m.move(Moved, src, src, ids)
	m.Backend.ScatterAdd(table, src, ids, rows, cols)
}

// Unscale counts bytes.
func (m *Meter) Unscale(gradients []device.Array, scale, foundInf device.Array) {
	m.move(Moved, gradients...)
	m.move(Moved, gradients...)
	m.Backend.Unscale(gradients, scale, foundInf)
}
