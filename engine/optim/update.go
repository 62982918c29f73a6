package optim

import (
	"memtop/engine/device"
	"memtop/engine/tensor"
	"memtop/snapshots/trace"
)

// # Steps away from the parameters
//
// State, parameters and gradients may each be on the device or on its host. A
// step is taken where the state is: what it reads comes there, and what it
// changes goes back. While one parameter is updated, the next one is on its way
// and the one before returns.

// lent is a slot whose parameter and gradient are where the state is, or are on
// their way there.
type lent struct {
	slot       *slot
	data, grad *tensor.Tensor // the variable's own, or copies
}

// update changes every parameter that has a gradient. u has what all of them
// share.
func (o *Optimizer) update(u device.Update) {
	var now, next lent
	defer func() {
		now.release()
		next.release()
	}()
	for _, p := range o.slots {
		p.changed = p.variable.Grad() != nil
		if !p.changed {
			continue
		}
		now, next = next, p.lend(o.device)
		now.update(o, u)
		now.release()
	}
	now, next = next, lent{}
	now.update(o, u)
}

func (p *slot) lend(d *tensor.Device) lent {
	return lent{p, brought(p.variable.Data(), d), brought(p.variable.Grad(), d)}
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
	u.Rule, u.First = o.settings.rule(l.data.Size()), !p.used
	l.data.Storage().Wrote()
	u.P, u.G = l.data.Array(), l.grad.Array()
	if p.master != nil {
		u.P, u.Low = p.master.Array(), u.P
		p.master.Storage().Wrote()
	}
	u.M, u.V, u.ScaleM, u.ScaleV = array(p.m), array(p.v), array(p.scaleM), array(p.scaleV)
	if p.master == nil && isLow(l.data) {
		o.updateLow(u)
	} else {
		o.device.Backend().Update(u.Plan())
	}
	if data := p.variable.Data(); data != l.data {
		data.CopyFrom(l.data)
	}
}

// lowChunk is how many elements of half precision are updated at a time, a multiple
// of device.QuantBlock. Tests make it small.
var lowChunk = 4 << 20

// updateLow updates what is in half precision throughout: a part of it at a time is
// float32 for as long as that takes.
func (o *Optimizer) updateLow(u device.Update) {
	for from := 0; from < u.P.Len; from += lowChunk {
		n := min(lowChunk, u.P.Len-from)
		part := func(a device.Array, from, n int) device.Array {
			if a.Absent() {
				return a
			}
			return a.Slice(from, n)
		}
		c := u
		c.P, c.G, c.M, c.V = u.P.Slice(from, n), u.G.Slice(from, n), part(u.M, from, n), part(u.V, from, n)
		blocks := from / device.QuantBlock
		c.ScaleM, c.ScaleV = part(u.ScaleM, blocks, device.QuantBlocks(n)), part(u.ScaleV, blocks, device.QuantBlocks(n))
		o.updateWide(c)
	}
}

// updateWide runs the device's operation on float32 copies.
func (o *Optimizer) updateWide(u device.Update) {
	b := o.device.Backend()
	for _, low := range []*device.Array{&u.P, &u.M, &u.V} {
		if low.Absent() || low.DType == device.UInt8 {
			continue
		}
		half := *low
		wide := tensor.New(o.device, tensor.Shape{half.Len}, device.Float32, tensor.Tag{Category: trace.Workspace, Role: "update"})
		defer wide.Release()
		b.Cast(wide.Array(), half)
		defer func() { b.Cast(half, wide.Array()) }() // before the release
		*low = wide.Array()
	}
	b.Update(u.Plan())
}

// release gives up the copies.
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

// array is the elements of a tensor that there may be none of.
func array(t *tensor.Tensor) device.Array {
	if t == nil {
		return device.Array{}
	}
	return t.Array()
}
