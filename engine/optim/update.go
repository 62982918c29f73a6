package optim

import (
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Steps away from the parameters
//
// State, parameters and gradients may each be on the device or on its host, one
// parameter's elsewhere than another's. The device of the state computes a step. One operation updates all parameters that
// are there with their gradients. The others are copied there, and changed
// tensors are copied back: while one parameter is updated, the next one is on its
// way there and the last one on its way back.

// lent is a slot whose parameter and gradient are on the state's device, or on
// their way there.
type lent struct {
	slot       *slot
	data, grad *tensor.Tensor // the variable's own, or copies
}

// update changes every parameter that has a gradient and whose state is on the
// device. u has the values that all of them share.
func (o *Optimizer) update(d *tensor.Device, u device.Update, copies *autograd.Tape) {
	var now, next lent
	defer func() {
		now.release()
		next.release()
	}()
	for _, p := range o.slots {
		if p.device != d {
			continue
		}
		p.changed = p.variable.Grad() != nil
		if !p.changed || p.together() {
			continue
		}
		now, next = next, p.lend()
		now.update(o, u)
		now.release()
	}
	now, next = next, lent{}
	now.update(o, u)
	o.updateList(d, u, copies)
}

// together reports whether a parameter can be updated without copies or
// conversions.
func (p *slot) together() bool { return p.near() && (p.master != nil || !isLow(p.variable.Data())) }

// near reports whether the parameter and its gradient are where the state is.
func (p *slot) near() bool {
	g := p.variable.Grad()
	return p.variable.Data().Device() == p.device && (g == nil || g.Device() == p.device)
}

// updateList updates a list of parameters with one operation for each rule and
// each type. Only tests have two types.
func (o *Optimizer) updateList(d *tensor.Device, u device.Update, copies *autograd.Tape) {
	for _, rule := range device.Rules() {
		for _, kind := range []device.DType{device.Float32, device.Float64} {
			u.Rule, u.List = rule, o.list[:0]
			for _, p := range o.slots {
				if p.device == d && p.changed && p.together() && o.settings.rule(p.variable.Data().Size()) == rule && p.kind() == kind {
					u.List = append(u.List, p.operandsInPlace(copies))
				}
			}
			o.list = u.List
			if len(u.List) > 0 {
				d.Backend().Update(u.Plan())
			}
		}
	}
}

// operandsInPlace are the operands of a step that writes the variable's tensor
// and its copy.
func (p *slot) operandsInPlace(copies *autograd.Tape) device.Parameter {
	x := p.operands(p.variable.Data(), p.variable.Grad())
	if p.master != nil || copies == nil {
		p.variable.Data().Storage().Wrote()
		return x
	}
	x.Low = array(copies.Renew(p.variable))
	return x
}

// kind is the type in which a parameter is updated.
func (p *slot) kind() device.DType { return device.ComputeType(p.variable.Data().DType()) }

// operands are the operands of a step that writes data.
func (p *slot) operands(data, grad *tensor.Tensor) device.Parameter {
	x := device.Parameter{
		P: data.Array(), G: grad.Array(), M: array(p.m), V: array(p.v), ScaleM: array(p.scaleM), ScaleV: array(p.scaleV), First: !p.used,
	}
	if p.master != nil {
		x.P, x.Low = p.master.Array(), x.P
		p.master.Storage().Wrote()
	}
	if !x.ScaleM.Absent() { // a last part may have fewer blocks than it has room for
		blocks := device.QuantBlocks(x.P.Len)
		x.ScaleM, x.ScaleV = x.ScaleM.Slice(0, blocks), x.ScaleV.Slice(0, blocks)
	}
	return x
}

func (p *slot) lend() lent {
	return lent{p, brought(p.variable.Data(), p.device), brought(p.variable.Grad(), p.device)}
}

// brought returns t itself if it is on the device, else a copy that is.
func brought(t *tensor.Tensor, d *tensor.Device) *tensor.Tensor {
	if t.Device() == d {
		return t
	}
	return t.To(d)
}

// update runs the device's operation, if there is a slot.
func (l *lent) update(o *Optimizer, u device.Update) {
	p := l.slot
	if p == nil {
		return
	}
	u.Rule = o.settings.rule(l.data.Size())
	l.data.Storage().Wrote()
	x := p.operands(l.data, l.grad)
	if p.master == nil && isLow(l.data) {
		o.updateLow(p.device, u, x)
	} else {
		o.updateOne(p.device, u, x)
	}
	if data := p.variable.Data(); data != l.data {
		data.CopyFrom(l.data)
	}
}

// updateOne is an update of one parameter.
func (o *Optimizer) updateOne(d *tensor.Device, u device.Update, x device.Parameter) {
	u.List = append(o.list[:0], x)
	d.Backend().Update(u.Plan())
}

// lowChunk is how many elements of half precision are updated at a time, a multiple
// of device.QuantBlock. Tests make it small.
var lowChunk = 4 << 20

// updateLow updates parameters that are in half precision throughout. It converts
// one part at a time to float32.
func (o *Optimizer) updateLow(d *tensor.Device, u device.Update, x device.Parameter) {
	for from := 0; from < x.P.Len; from += lowChunk {
		n := min(lowChunk, x.P.Len-from)
		part := func(a device.Array, from, n int) device.Array {
			if a.Absent() {
				return a
			}
			return a.Slice(from, n)
		}
		c := x
		c.P, c.G, c.M, c.V = x.P.Slice(from, n), x.G.Slice(from, n), part(x.M, from, n), part(x.V, from, n)
		blocks := from / device.QuantBlock
		c.ScaleM, c.ScaleV = part(x.ScaleM, blocks, device.QuantBlocks(n)), part(x.ScaleV, blocks, device.QuantBlocks(n))
		o.updateWide(d, u, c)
	}
}

// updateWide runs the device's operation on float32 copies.
func (o *Optimizer) updateWide(d *tensor.Device, u device.Update, x device.Parameter) {
	b := d.Backend()
	for _, low := range []*device.Array{&x.P, &x.M, &x.V} {
		if low.Absent() || low.DType == device.UInt8 {
			continue
		}
		half := *low
		wide := tensor.New(d.Whole(), tensor.Shape{half.Len}, device.Float32, tensor.Tag{Category: trace.Workspace, Role: "update"})
		defer wide.Release()
		b.Cast(wide.Array(), half)
		defer func() { b.Cast(half, wide.Array()) }() // before the release
		*low = wide.Array()
	}
	o.updateOne(d, u, x)
}

// release releases the copies.
func (l *lent) release() {
	if l.slot == nil {
		return
	}
	if l.data != l.slot.variable.Data() {
		l.data.Release()
	}
	if l.grad != l.slot.variable.Grad() {
		l.grad.Release()
	}
	*l = lent{}
}

// array returns the elements of a tensor, which may be nil.
func array(t *tensor.Tensor) device.Array {
	if t == nil {
		return device.Array{}
	}
	return t.Array()
}
