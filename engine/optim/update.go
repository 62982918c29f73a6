package optim

import (
	"memtop/engine/device"
	"memtop/engine/tensor"
)

// update runs the device's operation for one parameter. u has what all
// parameters share.
func (p *slot) update(b device.Backend, s *Settings, u device.Update) {
	data := p.variable.Data()
	u.Rule, u.First = s.rule(data.Size()), !p.used
	u.P, u.G = data.Array(), p.variable.Grad().Array()
	if p.master != nil {
		u.P, u.Low = p.master.Array(), data.Array()
		p.master.Storage().Wrote()
	}
	data.Storage().Wrote()
	u.M, u.V, u.ScaleM, u.ScaleV = array(p.m), array(p.v), array(p.scaleM), array(p.scaleV)
	b.Update(u.Plan())
}

// array is the elements of a tensor that there may be none of.
func array(t *tensor.Tensor) device.Array {
	if t == nil {
		return device.Array{}
	}
	return t.Array()
}
