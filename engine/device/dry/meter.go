package dry

import "github.com/memtop/memtop/engine/device"

// Ops are the operations of a step, or of a part of it, and how often each was done.
type Ops map[Op]int

// Count returns how many there are, without copies as they are.
func (o Ops) Count() (n int) {
	for op, times := range o {
		if op.Name != Crossing && op.Name != Copy {
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

// NewMeter returns a meter over a backend that does nothing.
func NewMeter() *Meter { return MeterOf(Backend{}) }

// MeterOf returns a meter over a backend.
func MeterOf(b device.Backend) *Meter { return &Meter{Backend: b, ops: make(Ops)} }

var _ device.Backend = (*Meter)(nil)

// Take returns the operations since the last call.
func (m *Meter) Take() Ops {
	ops := m.ops
	m.ops = make(Ops)
	return ops
}

// Ops returns the operations since the last call of Take, until the next one.
func (m *Meter) Ops() Ops { return m.ops }

// do notes an operation before it does it, for a backend that asks meanwhile.
func (m *Meter) do(op Op, operation func()) {
	m.ops[op]++
	operation()
}

// MatMul notes a product.
func (m *Meter) MatMul(p device.MatMulPlan) {
	m.do(product(&p), func() { m.Backend.MatMul(p) })
}

// Conv2D notes a convolution.
func (m *Meter) Conv2D(p device.ConvPlan) {
	m.do(convolution(Conv, &p, 1), func() { m.Backend.Conv2D(p) })
}

// Conv2DBackward notes the gradients that are asked for.
func (m *Meter) Conv2DBackward(p device.ConvBackwardPlan) {
	times := int64(0)
	for _, gradient := range []device.Array{p.DX, p.DWeight} {
		if !gradient.Absent() {
			times++
		}
	}
	m.do(convolution(ConvBackward, &p.ConvPlan, times), func() { m.Backend.Conv2DBackward(p) })
}

// Attention notes an attention.
func (m *Meter) Attention(p device.AttentionPlan) {
	m.do(attention(Attention, &p), func() { m.Backend.Attention(p) })
}

// AttentionBackward notes the gradients of one.
func (m *Meter) AttentionBackward(p device.AttentionBackwardPlan) {
	m.do(attention(AttentionBackward, &p.AttentionPlan), func() { m.Backend.AttentionBackward(p) })
}

// Update notes an update of a list.
func (m *Meter) Update(p device.UpdatePlan) {
	m.do(update(&p), func() { m.Backend.Update(p) })
}

// Send notes a copy to the host.
func (m *Meter) Send(dst, src device.Buffer) (c device.Crossing) {
	m.do(Op{Name: Crossing, Bytes: src.Bytes}, func() { c = m.Backend.Send(dst, src) })
	return c
}

// Receive notes a copy from the host.
func (m *Meter) Receive(dst, src device.Buffer) (c device.Crossing) {
	m.do(Op{Name: Crossing, Bytes: src.Bytes}, func() { c = m.Backend.Receive(dst, src) })
	return c
}
