package dry

import (
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
)

// Kind is a kind of work. On one device, every unit of a kind takes about the
// same time.
type Kind uint8

// The kinds. Products are counted in multiplications, memory traffic in bytes.
const (
	Products     Kind = iota // of float32
	HalfProducts             // with an operand of two bytes
	Scores                   // products of attention
	Moved                    // bytes of everything that is not a product
	Cast                     // bytes of changes of the element type
	Updated                  // bytes of parameters, gradients and the optimizer's state
	UpdatedBytes             // elements of parameters whose state is in eight bits
	Crossed                  // bytes between the device and the host
	Operations
	Kinds = int(iota)
)

// Work is an amount of work of each kind.
type Work [Kinds]float64

// Meter counts the work that it passes on to a backend. It belongs to one
// goroutine.
type Meter struct {
	device.Backend
	Work Work
}

// NewMeter returns a meter over a backend that does nothing.
func NewMeter() *Meter { return &Meter{Backend: Backend{}} }

var _ device.Backend = (*Meter)(nil)

// Take returns the work since the last call.
func (m *Meter) Take() Work {
	w := m.Work
	m.Work = Work{}
	return w
}

// OpenHost returns unlimited memory whose work the meter counts too.
func (m *Meter) OpenHost() (alloc.Driver, device.Backend, error) {
	driver, _, err := Backend{}.OpenHost()
	return driver, m, err
}

// OpenFile returns unlimited memory, and leaves the file alone.
func (m *Meter) OpenFile(path string) (alloc.Driver, error) { return Backend{}.OpenFile(path) }

// CloseFile does nothing.
func (m *Meter) CloseFile() error { return nil }

// move counts an operation that reads or writes all of these operands.
func (m *Meter) move(kind Kind, arrays ...device.Array) {
	m.Work[Operations]++
	m.count(kind, arrays...)
}

// count counts the bytes of operands.
func (m *Meter) count(kind Kind, arrays ...device.Array) {
	for _, a := range arrays {
		m.Work[kind] += float64(int64(a.Len) * a.DType.Size())
	}
}

// multiply counts products with an operand of this type.
func (m *Meter) multiply(n int, operands ...device.Array) {
	m.Work[Operations]++
	kind := Products
	for _, a := range operands {
		if a.DType.Size() == 2 {
			kind = HalfProducts
		}
	}
	m.Work[kind] += float64(n)
}

// MatMul counts its products.
func (m *Meter) MatMul(p device.MatMulPlan) {
	m.multiply(p.M*p.N*p.K*p.Batch, p.A, p.B)
	m.Backend.MatMul(p)
}

// Conv2D counts its products, and the unfolded images.
func (m *Meter) Conv2D(p device.ConvPlan) {
	m.convolve(&p, 1)
	m.Backend.Conv2D(p)
}

// Conv2DBackward counts those of both gradients.
func (m *Meter) Conv2DBackward(p device.ConvBackwardPlan) {
	m.convolve(&p.ConvPlan, 2)
	m.Backend.Conv2DBackward(p)
}

func (m *Meter) convolve(p *device.ConvPlan, times int) {
	pixels := p.Batch * p.OutRows * p.OutColumns
	m.multiply(times*pixels*p.OutChannels*p.Unfolded, p.X, p.Weight)
	m.Work[Moved] += float64(times * pixels * p.Unfolded * p.Groups * 4)
}

// Attention counts its products.
func (m *Meter) Attention(p device.AttentionPlan) {
	m.attend(&p, 2)
	m.Backend.Attention(p)
}

// AttentionBackward counts its products. Kinds that did not keep the
// probabilities compute them again.
func (m *Meter) AttentionBackward(p device.AttentionBackwardPlan) {
	times := 5
	if p.Kind == device.Naive {
		times = 4
	}
	m.attend(&p.AttentionPlan, times)
	m.Backend.AttentionBackward(p)
}

func (m *Meter) attend(p *device.AttentionPlan, times int) {
	m.Work[Operations]++
	visible := 0
	for q := range p.Queries {
		visible += p.Visible(q)
	}
	m.Work[Scores] += float64(times * p.AllHeads * visible * p.Dim)
}

// Update counts bytes, or elements where their state is in eight bits.
func (m *Meter) Update(p device.UpdatePlan) {
	m.Work[Operations]++
	for i := range p.List {
		x := &p.List[i]
		if p.Rule.InBytes() {
			m.Work[UpdatedBytes] += float64(x.P.Len)
		} else {
			m.count(Updated, x.P, x.P, x.G, x.M, x.M, x.V, x.V, x.Low)
		}
	}
	m.Backend.Update(p)
}

// Send counts bytes.
func (m *Meter) Send(dst, src device.Buffer) device.Crossing {
	m.Work[Crossed] += float64(src.Bytes)
	return m.Backend.Send(dst, src)
}

// Receive counts bytes.
func (m *Meter) Receive(dst, src device.Buffer) device.Crossing {
	m.Work[Crossed] += float64(src.Bytes)
	return m.Backend.Receive(dst, src)
}

// Cast counts bytes.
func (m *Meter) Cast(dst, src device.Array) {
	m.move(Cast, dst, src)
	m.Backend.Cast(dst, src)
}
