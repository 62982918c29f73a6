package engine

import (
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// Machine is a device: its memory and its backend, such as a cpu.Device.
type Machine interface {
	alloc.Driver
	device.Backend
	// Name is the device's name, such as "cpu:0".
	Name() string
}

// Open returns a machine's device that records the source lines of its
// allocations. The caller owns the machine, and closes it after everything on the
// device was released. The options need no name.
func Open(m Machine, o alloc.Options) (*tensor.Device, error) {
	o.Name = m.Name()
	a, err := alloc.New(m, o)
	if err != nil {
		return nil, err
	}
	d := tensor.NewDevice(o.Name, a, m, tensor.Options{})
	Watch(d)
	return d, nil
}

// Watch has a device note from now on which lines ask for memory, and which tensors
// the program loses without a release. It belongs to the device's goroutine.
func Watch(d *tensor.Device) {
	memory := d.Memory()
	memory.SetStacks(true)
	d.OnLeak(func(l tensor.Leak) { memory.Lost(l.Allocation) })
}
