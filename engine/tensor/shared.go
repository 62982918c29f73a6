package tensor

import (
	"cmp"

	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/device"
)

// # Memory that several processes share
//
// Processes that train together may divide tensors: each process holds a part of
// every tensor. A shared device is the memory of all of them, as one process sees
// it. A tensor there takes only its part of the bytes in the process's own
// memory. Copying it to the device gathers it, and copying it back divides it.
// Each process runs operations on its own part, so only element-by-element
// operations are possible. All processes must do the same operations, in the same
// order.

// Shared returns the memory that the processes of a group, each with a device as
// d, have together. Each holds an even part of the elements of every tensor,
// rounded up: the last parts may be shorter, or empty. Every call returns the
// same device.
func (d *Device) Shared(g collective.Group) *Device {
	if d.shared == nil || d.shared.group != g {
		d.shared = NewDevice(d.name, d.memory, d.backend, d.options)
		d.shared.whole, d.shared.group = d, g
	}
	return d.shared
}

// Whole returns the device on which the tensors of a shared device are gathered.
// It returns any other device itself.
func (d *Device) Whole() *Device {
	if d.whole != nil {
		return d.whole
	}
	return d
}

// Group returns the processes that share the device, nil if none do.
func (d *Device) Group() collective.Group { return d.group }

// Divided returns the size of a tensor that has f(m) elements for each m elements that
// a process has of one of size n.
func (d *Device) Divided(n int, f func(m int) int) int {
	if d.group == nil {
		return f(n)
	}
	return d.group.Size() * f(d.own(n))
}

// own returns for how many of n elements a process has memory.
func (d *Device) own(n int) int {
	if d.group == nil || n == 0 {
		return n
	}
	return (n-1)/d.group.Size() + 1
}

// part returns which of n elements a process has.
func (d *Device) part(n, rank int) (from, length int) {
	if d.group == nil {
		return 0, n
	}
	each := d.own(n)
	from = min(rank*each, n)
	return from, min(each, n-from)
}

// partOf returns the own part of a whole tensor's elements.
func (d *Device) partOf(whole device.Array) device.Array {
	return whole.Slice(d.part(whole.Len, d.group.Rank()))
}

// share copies between a shared device and another one: each process takes its
// part of the whole tensor, or all give their parts to it.
func share(to, from *Tensor) {
	a, b := from.Device(), to.Device()
	whole := a.Whole()
	if whole == a {
		whole = b.Whole()
	}
	switch {
	case a == whole:
		b.backend.Copy(to.Array().Buffer(), b.partOf(from.Array()).Buffer())
	case b == whole:
		gather(to, from)
	default: // one is the host
		through := New(whole, from.shape, from.dtype, Tag{Role: "copy between devices"})
		defer through.Release()
		cross(through, from)
		cross(to, through)
	}
}

// exchange is an operation of all processes that divides or gathers a tensor. It
// runs beside other operations, as a copy to the host does.
type exchange struct {
	under []collective.Pending
	after func() // on the own part; nil for nothing
	err   error
}

// Await implements device.Crossing.
func (e *exchange) Await() {
	for _, p := range e.under {
		e.err = cmp.Or(e.err, p.Wait())
	}
	if e.after != nil && e.err == nil {
		e.after()
	}
	e.under, e.after = nil, nil
}

// Wait implements device.Crossing.
func (e *exchange) Wait() error {
	e.Await()
	return e.err
}

// gather begins to gather the parts of a tensor.
func gather(to, from *Tensor) {
	d := from.Device()
	begin(&crossing{to: to, from: from, device: to.Device(), way: inward}, func(_, own device.Buffer) device.Crossing {
		whole, e := to.Array(), &exchange{}
		part := d.partOf(whole)
		d.backend.Copy(part.Buffer(), own)
		if d.even(whole.Len) {
			e.under = append(e.under, d.group.AllGather(whole, part))
			return e
		}
		for rank := range d.group.Size() {
			if at, n := d.part(whole.Len, rank); n > 0 {
				e.under = append(e.under, d.group.Broadcast(whole.Slice(at, n), rank))
			}
		}
		return e
	})
}

// even reports whether all processes have the same number of n elements.
func (d *Device) even(n int) bool { return n == d.group.Size()*d.own(n) }

// Mean returns the mean over the processes of a tensor of which each has its own, on
// their shared device, and does not wait for it. It overwrites t.
func (t *Tensor) Mean(shared *Device) *Tensor {
	label := t.storage.label
	m := New(shared, t.shape, t.dtype, Tag{Category: label.Category, Layer: label.Layer, Role: label.Role})
	if t.Size() == 0 {
		return m
	}
	t.storage.Wrote()
	begin(&crossing{to: m, from: t, device: t.Device(), way: outward}, func(device.Buffer, device.Buffer) device.Crossing {
		return shared.mean(m.Array(), t.Array())
	})
	return m
}

// mean begins to set the own part to that of the mean of whole.
func (d *Device) mean(own, whole device.Array) *exchange {
	e, even := &exchange{}, d.even(whole.Len)
	if even {
		e.under = append(e.under, d.group.ReduceScatter(own, whole))
	} else {
		e.under = append(e.under, d.group.AllReduce(whole))
	}
	e.after = func() {
		if !even {
			d.backend.Copy(own.Buffer(), d.partOf(whole).Buffer())
		}
		d.backend.Scale(own, own, 1/float64(d.group.Size()))
	}
	return e
}

// SumOverGroup adds up a tensor of which each process that shares d has its own, in
// place; where none do it does nothing.
func (t *Tensor) SumOverGroup(d *Device) {
	if d.group != nil {
		t.storage.Wrote()
		fail(d.group.AllReduce(t.Array()).Wait(), "sum a tensor of several processes")
	}
}
