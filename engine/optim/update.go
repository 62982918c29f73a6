package optim

import (
	"memtop/engine/device"
	"memtop/engine/tensor"
)

// update runs the device's operation for one parameter. u has what all
// parameters share.
func (p *slot) update(b device.Backend, s *Settings, u device.Update) {
	data := p.variable.Data()
	u.P, u.G = data.Array(), p.variable.Grad().Array()
	if p.master != nil {
		u.P, u.Low = p.master.Array(), data.Array()
		p.master.Storage().Wrote()
	}
	data.Storage().Wrote()
	switch s.Kind {
	case SGD:
		b.SGD(device.SGD{Update: u, M: array(p.m), Momentum: s.Momentum, Nesterov: s.Nesterov, First: !p.used})
	case Lion:
		b.Lion(device.Lion{Update: u, M: p.m.Array(), Beta1: s.Beta1, Beta2: s.Beta2})
	default:
		p.adam(b, s, u)
	}
}

func (p *slot) adam(b device.Backend, s *Settings, u device.Update) {
	if p.scaleM != nil {
		b.AdamW8(device.Adam8{
			Update: u, M: p.m.Array(), V: p.v.Array(), ScaleM: p.scaleM.Array(), ScaleV: p.scaleV.Array(),
			Beta1: s.Beta1, Beta2: s.Beta2, Eps: s.Eps,
		})
		return
	}
	a := device.Adam{Update: u, M: p.m.Array(), V: p.v.Array(), Beta1: s.Beta1, Beta2: s.Beta2, Eps: s.Eps}
	if s.Kind == Adam {
		b.Adam(a)
		return
	}
	b.AdamW(a)
}

// array is the elements of a tensor that there may be none of.
func array(t *tensor.Tensor) device.Array {
	if t == nil {
		return device.Array{}
	}
	return t.Array()
}
