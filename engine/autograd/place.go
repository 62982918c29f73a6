package autograd

import "github.com/memtop/memtop/engine/tensor"

// # Two devices
//
// Operations compute on the tape's device or on its host, whichever was set last,
// and a rule computes where its operation did. An operand that lies on the other
// one is copied first. If a gradient flows into it, the copy is an operation of
// its own, whose rule copies the gradient back. The copies run beside other work,
// see "Crossing to the host" in package tensor. A parameter that is read on both
// devices has one gradient, which moves to the device of the next rule.

// Device returns the device on which operations compute now.
func (t *Tape) Device() *tensor.Device { return t.device }

// SetDevice makes operations compute on the tape's device, or on that device's
// host, and returns the one before.
func (t *Tape) SetDevice(d *tensor.Device) (before *tensor.Device) {
	before, t.device = t.device, d
	return before
}

// Here returns v where operations compute now: v itself if it lies there, and if
// it is a variable's, which every operation fetches by itself.
func (t *Tape) Here(v *Value) *Value {
	if v.data.Device() == t.device || v.weights() {
		return v
	}
	c := &call{Tape: t, op: "copy between devices", in: []*Value{v}, mark: len(t.temps)}
	defer c.end()
	y := c.out(v.Shape(), v.DType())
	y.CopyFrom(v.Data())
	return c.value(y, nil, func(b *back) { b.give(0, b.hold(b.dy.To(b.node.in[0].like.Device()))) })
}

// weights reports whether the value is a variable's, as it is or converted.
func (v *Value) weights() bool {
	return v.variable != nil || v.data.Storage().Label().Role == castRole
}

// bring moves the gradient so far to a device.
func (s *slot) bring(d *tensor.Device) {
	if s.grad != nil && s.grad.Device() != d {
		moved := s.grad.To(d)
		s.grad.Release()
		s.grad = moved
		s.setLow(nil)
	}
}

// gathers returns the device on which the gradient of an operand adds up.
func (b *back) gathers(i int) *tensor.Device {
	s := b.node.in[i]
	if s.grad != nil {
		return s.grad.Device()
	}
	if v := s.variable; v != nil && v.keeper != nil && v.keeper.Group() == nil {
		return v.keeper
	}
	return b.device
}
