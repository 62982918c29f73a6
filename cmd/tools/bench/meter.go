package main

import "github.com/memtop/memtop/engine/device"

// Op is an operation of a device.
type Op struct {
	Name  Name
	Bytes int64 // of the operands
}

// Name names an operation.
type Name uint8

// The operations that a meter notes: all but convolutions and attention.
const (
	MatMul Name = iota // without bytes
	Update
	Cast
	Copy
	CopyStrided
	Fill
	Unary
	UnaryBackward
	Binary
	AddScaled
	Scale
	ScaleBy
	Reduce
	Norm2
	AddSquares
	Dropout
	DropoutBackward
	Normalize
	NormalizeBackward
	Softmax
	SoftmaxBackward
	CrossEntropy
	CrossEntropyBackward
	CrossEntropyBoth
	Gather
	ScatterAdd
	Unscale
)

// over is the operation that reads or writes all of these operands.
func (op Op) over(arrays ...device.Array) Op {
	for _, a := range arrays {
		op.Bytes += int64(a.Len) * a.DType.Size()
	}
	return op
}

// Ops are operations, and how often each was done.
type Ops map[Op]int

// Count returns how many there are, without copies as they are.
func (o Ops) Count() (n int) {
	for op, times := range o {
		if op.Name != Copy {
			n += times
		}
	}
	return n
}

// Meter notes the operations that it passes on to a backend. It belongs to one
// goroutine.
type Meter struct {
	device.Backend
	ops Ops
}

// MeterOf returns a meter over a backend.
func MeterOf(b device.Backend) *Meter { return &Meter{Backend: b, ops: make(Ops)} }

var _ device.Backend = (*Meter)(nil)

// Take returns the operations since the last call.
func (m *Meter) Take() Ops {
	ops := m.ops
	m.ops = make(Ops)
	return ops
}

// do notes an operation before it does it, for a backend that asks meanwhile.
func (m *Meter) do(op Op, operation func()) {
	m.ops[op]++
	operation()
}

// MatMul notes a product.
func (m *Meter) MatMul(p device.MatMulPlan) {
	m.do(Op{Name: MatMul}, func() { m.Backend.MatMul(p) })
}

// Update notes an update of a list.
func (m *Meter) Update(p device.UpdatePlan) {
	op := Op{Name: Update}
	for i := range p.List {
		x := &p.List[i]
		op = op.over(x.P, x.P, x.G, x.M, x.M, x.V, x.V, x.Low)
	}
	m.do(op, func() { m.Backend.Update(p) })
}

// Copy notes one.
func (m *Meter) Copy(dst, src device.Buffer) {
	m.do(Op{Name: Copy, Bytes: dst.Bytes + src.Bytes}, func() { m.Backend.Copy(dst, src) })
}

// Fill notes one.
func (m *Meter) Fill(dst device.Array, value float64) {
	m.do(Op{Name: Fill}.over(dst), func() { m.Backend.Fill(dst, value) })
}

// Unary notes one.
func (m *Meter) Unary(op device.UnaryOp, dst, x device.Array) {
	m.do(Op{Name: Unary}.over(dst, x), func() { m.Backend.Unary(op, dst, x) })
}

// UnaryBackward notes one.
func (m *Meter) UnaryBackward(op device.UnaryOp, dx, x, dy device.Array) {
	m.do(Op{Name: UnaryBackward}.over(dx, x, dy), func() { m.Backend.UnaryBackward(op, dx, x, dy) })
}

// Binary notes one.
func (m *Meter) Binary(op device.BinaryOp, dst, a, b device.Array) {
	m.do(Op{Name: Binary}.over(dst, a, b), func() { m.Backend.Binary(op, dst, a, b) })
}

// AddScaled notes one.
func (m *Meter) AddScaled(dst, a, b device.Array, alpha float64) {
	m.do(Op{Name: AddScaled}.over(dst, a, b), func() { m.Backend.AddScaled(dst, a, b, alpha) })
}

// Scale notes one.
func (m *Meter) Scale(dst, x device.Array, factor float64) {
	m.do(Op{Name: Scale}.over(dst, x), func() { m.Backend.Scale(dst, x, factor) })
}

// ScaleBy notes one.
func (m *Meter) ScaleBy(dst, x, factor device.Array) {
	m.do(Op{Name: ScaleBy}.over(dst, x, factor), func() { m.Backend.ScaleBy(dst, x, factor) })
}

// CopyStrided notes one.
func (m *Meter) CopyStrided(dst, src device.Strided, shape []int) {
	n := 2
	for _, size := range shape {
		n *= size
	}
	m.do(Op{Name: CopyStrided, Bytes: int64(n) * dst.Base.DType.Size()}, func() { m.Backend.CopyStrided(dst, src, shape) })
}

// Reduce notes one.
func (m *Meter) Reduce(r device.Reduction, dst, src device.Array, outer, n, inner int) {
	m.do(Op{Name: Reduce}.over(dst, src), func() { m.Backend.Reduce(r, dst, src, outer, n, inner) })
}

// Norm2 notes one.
func (m *Meter) Norm2(dst device.Array, list []device.Array) {
	m.do(Op{Name: Norm2}.over(list...), func() { m.Backend.Norm2(dst, list) })
}

// Dropout notes one.
func (m *Meter) Dropout(y, x, mask device.Array, p float64, seed device.Seed) {
	m.do(Op{Name: Dropout}.over(y, x, mask), func() { m.Backend.Dropout(y, x, mask, p, seed) })
}

// DropoutBackward notes one.
func (m *Meter) DropoutBackward(dx, dy, mask device.Array, p float64) {
	m.do(Op{Name: DropoutBackward}.over(dx, dy, mask), func() { m.Backend.DropoutBackward(dx, dy, mask, p) })
}

// Normalize notes one.
func (m *Meter) Normalize(p device.NormPlan) {
	m.do(Op{Name: Normalize}.over(p.X, p.Residual, p.Sum, p.Y), func() { m.Backend.Normalize(p) })
}

// NormalizeBackward notes one.
func (m *Meter) NormalizeBackward(p device.NormBackwardPlan) {
	m.do(Op{Name: NormalizeBackward}.over(p.X, p.DY, p.Add, p.DX, p.Low), func() { m.Backend.NormalizeBackward(p) })
}

// Softmax notes one.
func (m *Meter) Softmax(y, x device.Array, rows, cols int, causal bool) {
	m.do(Op{Name: Softmax}.over(y, x), func() { m.Backend.Softmax(y, x, rows, cols, causal) })
}

// SoftmaxBackward notes one.
func (m *Meter) SoftmaxBackward(dx, y, dy device.Array, rows, cols int) {
	m.do(Op{Name: SoftmaxBackward}.over(dx, y, dy), func() { m.Backend.SoftmaxBackward(dx, y, dy, rows, cols) })
}

// CrossEntropy notes one.
func (m *Meter) CrossEntropy(c device.CrossEntropy) {
	m.do(Op{Name: CrossEntropy}.over(c.Logits), func() { m.Backend.CrossEntropy(c) })
}

// CrossEntropyBackward notes one.
func (m *Meter) CrossEntropyBackward(dlogits device.Array, c device.CrossEntropy, dloss device.Array) {
	m.do(Op{Name: CrossEntropyBackward}.over(dlogits, c.Logits), func() { m.Backend.CrossEntropyBackward(dlogits, c, dloss) })
}

// Gather notes one.
func (m *Meter) Gather(dst, table, ids device.Array, rows, cols int) {
	m.do(Op{Name: Gather}.over(dst, dst, ids), func() { m.Backend.Gather(dst, table, ids, rows, cols) })
}

// ScatterAdd notes one.
func (m *Meter) ScatterAdd(table, src, ids device.Array, rows, cols int) {
	m.do(Op{Name: ScatterAdd}.over(src, src, ids), func() { m.Backend.ScatterAdd(table, src, ids, rows, cols) })
}

// Unscale notes one.
func (m *Meter) Unscale(gradients []device.Array, scale, foundInf device.Array) {
	op := Op{Name: Unscale}.over(gradients...)
	op.Bytes *= 2 // they are read and written
	m.do(op, func() { m.Backend.Unscale(gradients, scale, foundInf) })
}

// Cast notes one.
func (m *Meter) Cast(dst, src device.Array) {
	m.do(Op{Name: Cast}.over(dst, src), func() { m.Backend.Cast(dst, src) })
}

// CrossEntropyBoth notes one.
func (m *Meter) CrossEntropyBoth(dlogits device.Array, c device.CrossEntropy, dloss device.Array) {
	m.do(Op{Name: CrossEntropyBoth}.over(dlogits, c.Logits), func() { m.Backend.CrossEntropyBoth(dlogits, c, dloss) })
}

// AddSquares notes one.
func (m *Meter) AddSquares(sum device.Array, list []device.Array) {
	m.do(Op{Name: AddSquares}.over(list...), func() { m.Backend.AddSquares(sum, list) })
}

// Root notes a norm.
func (m *Meter) Root(dst, sum device.Array) {
	m.do(Op{Name: Norm2}.over(dst, sum), func() { m.Backend.Root(dst, sum) })
}
