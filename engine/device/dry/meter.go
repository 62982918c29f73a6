package dry

import (
	"time"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
)

// Spent is what the operations of one description did.
type Spent struct {
	Times int
	Took  time.Duration // 0 if the meter has no clock
}

// Ops are the operations of a step, or of a part of it.
type Ops map[Op]Spent

// Count returns how many there are, without copies as they are.
func (o Ops) Count() (n int) {
	for op, spent := range o {
		if op.Name != Crossing && op.Name != Copy {
			n += spent.Times
		}
	}
	return n
}

// Meter notes the operations that it passes on to a backend. It belongs to one
// goroutine.
type Meter struct {
	device.Backend
	clock func() time.Duration // nil if the operations are only counted
	ops   Ops
	upon  *Meter // that this one notes for, nil for itself
}

// NewMeter returns a meter over a backend that does nothing.
func NewMeter() *Meter { return MeterOf(Backend{}, nil) }

// MeterOf returns a meter over a backend whose operations are done when they
// return, if it has a clock: it then measures how long each takes.
func MeterOf(b device.Backend, clock func() time.Duration) *Meter {
	return &Meter{Backend: b, clock: clock, ops: make(Ops)}
}

var _ device.Backend = (*Meter)(nil)

// Over returns a meter over another backend, whose operations this one notes.
func (m *Meter) Over(b device.Backend) *Meter { return &Meter{Backend: b, clock: m.clock, upon: m} }

// Take returns the operations since the last call.
func (m *Meter) Take() Ops {
	ops := m.ops
	m.ops = make(Ops)
	return ops
}

// Ops returns the operations since the last call of Take, until the next one.
func (m *Meter) Ops() Ops { return m.ops }

// OpenHost opens the host of a rehearsal, whose work the meter notes too.
func (m *Meter) OpenHost() (alloc.Driver, device.Backend, error) {
	driver, _, err := Backend{}.OpenHost()
	return driver, m, err
}

// do notes an operation before it does it, for a backend that asks meanwhile.
func (m *Meter) do(op Op, operation func()) {
	of := m
	if m.upon != nil {
		of = m.upon
	}
	s := of.ops[op]
	s.Times++
	of.ops[op] = s
	if m.clock == nil {
		operation()
		return
	}
	start := m.clock()
	operation()
	s.Took += m.clock() - start
	of.ops[op] = s
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
	m.do(Op{Name: Crossing, Which: 1, Bytes: src.Bytes}, func() { c = m.Backend.Receive(dst, src) })
	return c
}
