package optim

import (
	"memtop/engine/autograd"
	"memtop/engine/device"
	"memtop/engine/tensor"
	"memtop/snapshots/trace"
)

// min8bit is the number of elements from which state is kept in eight bits: a
// smaller tensor saves nothing that matters, and is often one that needs the
// precision.
const min8bit = 4096

// slot is one parameter with what the optimizer remembers of it. Which tensors
// there are depends on the settings; the others are nil.
type slot struct {
	variable *autograd.Variable
	master   *tensor.Tensor // float32 copy of a half precision parameter
	m, v     *tensor.Tensor
	scaleM   *tensor.Tensor
	scaleV   *tensor.Tensor
	used     bool // m holds something
	changed  bool // by the last step, unless it was skipped
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
	m, v   string // the moments' roles; empty for what there is not
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

// StateBytes returns the bytes of state for one parameter, without a master
// copy: what [New] will allocate for it.
func (s *Settings) StateBytes(elements int) int64 {
	l, n := s.layout(elements), int64(elements)
	count := int64(0)
	for _, role := range []string{l.m, l.v} {
		if role != "" {
			count++
		}
	}
	if l.narrow {
		return count * (n + 4*int64(device.QuantBlocks(elements)))
	}
	return count * 4 * n
}

func (p *slot) tag(role string) tensor.Tag {
	return tensor.Tag{Category: trace.Optimizer, Layer: p.variable.Data().Storage().Label().Layer, Role: role}
}

// allocate makes the state, as it is before the first step.
func (p *slot) allocate(s *Settings) {
	data := p.variable.Data()
	l, d := s.layout(data.Size()), data.Device()
	dtype := stateType(data)
	switch {
	case l.m == "":
	case l.narrow:
		blocks := tensor.Shape{device.QuantBlocks(data.Size())}
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

// copyMaster makes the master copy that a half precision parameter needs.
func (p *slot) copyMaster() {
	data := p.variable.Data()
	if data.DType() == device.BFloat16 || data.DType() == device.Float16 {
		p.master = tensor.Convert(data, device.Float32, p.tag(roleMaster))
	}
}

// stateType is float64 for float64 parameters, which only tests have.
func stateType(data *tensor.Tensor) device.DType {
	if data.DType() == device.Float64 {
		return device.Float64
	}
	return device.Float32
}

// release gives up the moments; the master copy stays.
func (p *slot) release() {
	for _, x := range []**tensor.Tensor{&p.m, &p.v, &p.scaleM, &p.scaleV} {
		(*x).Release()
		*x = nil
	}
}

// State is one tensor that an optimizer keeps.
type State struct {
	Parameter string // the variable's name
	Role      string
	Data      *tensor.Tensor // the optimizer's own handle
}

func (p *slot) state() []State {
	var list []State
	for _, x := range []*tensor.Tensor{p.master, p.m, p.scaleM, p.v, p.scaleV} {
		if x != nil {
			list = append(list, State{p.variable.Name(), x.Storage().Label().Role, x})
		}
	}
	return list
}
