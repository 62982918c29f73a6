package optim

import (
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// min8bit is the number of elements from which state is kept in eight bits: a
// smaller tensor saves nothing that matters, and is often one that needs the
// precision.
const min8bit = 4096

// slot is one parameter with its state. The settings decide which tensors exist;
// the others are nil.
type slot struct {
	variable *autograd.Variable
	device   *tensor.Device // of the state and of the step
	kept
	used    bool // m holds something
	changed bool // by the last step, unless it was skipped
}

// kept are the tensors of a slot, all on one device.
type kept struct {
	master         *tensor.Tensor // float32 copy of a half precision parameter
	m, v           *tensor.Tensor
	scaleM, scaleV *tensor.Tensor
}

// all are the tensors in the order in which they are saved, with nil for missing
// ones.
func (k *kept) all() [5]**tensor.Tensor {
	return [...]**tensor.Tensor{&k.master, &k.m, &k.scaleM, &k.v, &k.scaleV}
}

// copyTo copies the tensors to a device.
func (k *kept) copyTo(d *tensor.Device, to *kept) {
	copies := to.all()
	for i, x := range k.all() {
		if *x != nil {
			*copies[i] = (*x).To(d)
		}
	}
}

// release releases all tensors.
func (k *kept) release() {
	for _, x := range k.all() {
		(*x).Release()
		*x = nil
	}
}

// The roles of state, PyTorch's names where it has them.
const (
	roleMaster   = "master"
	roleMomentum = "momentum_buffer"
	roleM        = "exp_avg"
	roleV        = "exp_avg_sq"
	roleScaleM   = "exp_avg absmax"
	roleScaleV   = "exp_avg_sq absmax"
)

// layout says which state one parameter has.
type layout struct {
	m, v   string // the moments' roles; empty for missing ones
	narrow bool   // in eight bits
}

func (s *Settings) layout(elements int) layout {
	rule := s.rule(elements)
	l := layout{narrow: rule.InBytes()}
	if s.Kind != SGD || s.Momentum != 0 {
		l.m = kinds[s.Kind].first
	}
	if rule.Moments() == 2 {
		l.v = roleV
	}
	return l
}

func (p *slot) tag(role string) tensor.Tag {
	return tensor.Tag{Category: trace.Optimizer, Layer: p.variable.Data().Storage().Label().Layer, Role: role}
}

// allocate makes the state as it is before the first step.
func (p *slot) allocate(s *Settings) {
	d, data := p.device, p.variable.Data()
	l := s.layout(data.Size())
	dtype := s.stateType(data)
	switch {
	case l.m == "":
	case l.narrow:
		blocks := tensor.Shape{d.Divided(data.Size(), device.QuantBlocks)}
		p.m = tensor.Full(d, data.Shape(), device.UInt8, device.ZeroM, p.tag(l.m))
		p.scaleM = tensor.Full(d, blocks, device.Float32, 0, p.tag(roleScaleM))
		p.v = tensor.Full(d, data.Shape(), device.UInt8, device.ZeroV, p.tag(l.v))
		p.scaleV = tensor.Full(d, blocks, device.Float32, 0, p.tag(roleScaleV))
	default:
		p.m = tensor.Full(d, data.Shape(), dtype, 0, p.tag(l.m))
		if l.v != "" {
			p.v = tensor.Full(d, data.Shape(), dtype, 0, p.tag(l.v))
		}
	}
	p.used = false
}

// settleMaster makes the master copy that a half-precision parameter needs, or
// releases it if none is needed.
func (p *slot) settleMaster(s *Settings) {
	data := p.variable.Data()
	switch wanted := !s.NoMainCopies && isLow(data); {
	case wanted && p.master == nil:
		low := data.To(p.device)
		defer low.Release()
		p.master = tensor.Convert(low, device.Float32, p.tag(roleMaster))
	case !wanted:
		p.master.Release()
		p.master = nil
	}
}

// isLow reports whether a tensor is in half precision.
func isLow(t *tensor.Tensor) bool {
	return t.DType() == device.BFloat16 || t.DType() == device.Float16
}

// stateType is float32, except for half precision without main copies, and for
// float64 parameters, which only tests have.
func (s *Settings) stateType(data *tensor.Tensor) device.DType {
	if data.DType() == device.Float64 || s.NoMainCopies && isLow(data) {
		return data.DType()
	}
	return device.Float32
}

// releaseMoments releases all but the master copy.
func (p *slot) releaseMoments() {
	moments := p.kept
	moments.master = nil
	moments.release()
	p.kept = kept{master: p.master}
}

// State is one tensor that an optimizer keeps.
type State struct {
	Parameter string // the variable's name
	Role      string
	Data      *tensor.Tensor // the optimizer's own handle
}

func (p *slot) state() []State {
	var list []State
	for _, x := range p.all() {
		if *x != nil {
			list = append(list, State{p.variable.Name(), (*x).Storage().Label().Role, *x})
		}
	}
	return list
}
