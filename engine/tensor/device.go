package tensor

import (
	"reflect"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/device"
)

// Options configure a [Device]. The zero value is what training uses.
type Options struct {
	// Stream is the queue that memory is allocated for.
	Stream alloc.Stream
	// Poison fills memory with NaN before it is freed, so that a use after the
	// release shows in the result. It costs one pass over every block.
	Poison bool
	// Unnamed has the allocator know of memory only what it is for, not whose it
	// is: the blocks of a rehearsal are only counted.
	Unnamed bool
}

// Device joins what tensors need of a device: memory and operations.
type Device struct {
	name    string
	memory  *alloc.Allocator
	backend device.Backend
	options Options
	scope   scope
	onLeak  func(Leak)       // may be nil
	young   *Storage         // the first of those made since Settle, while onLeak is given
	host    *Device          // nil until it is used; a host's is itself
	shared  *Device          // nil until it is used
	whole   *Device          // of a shared device, where its parts come together
	group   collective.Group // of a shared device
	// crossings are the copies under way to the host and from it, oldest first.
	crossings [ways][]*crossing
	crossed   [ways]int64 // bytes, since the beginning
}

// NewDevice returns the device with the given name, such as "cpu:0". The
// allocator hands out memory that the backend can reach. The caller keeps both
// and closes them after everything on the device was released. Stacks of allocations
// begin with who asked for a tensor.
func NewDevice(name string, memory *alloc.Allocator, backend device.Backend, o Options) *Device {
	memory.Hide(reflect.TypeFor[Device]().PkgPath())
	return &Device{name: name, memory: memory, backend: backend, options: o}
}

// Name returns the name the device was made with.
func (d *Device) Name() string { return d.name }

// Memory returns the allocator.
func (d *Device) Memory() *alloc.Allocator { return d.memory }

// Backend returns the operations. It belongs to the goroutine of the device.
func (d *Device) Backend() device.Backend { return d.backend }

// Synchronize waits for the device. It fails with the first failure of an
// operation.
func (d *Device) Synchronize() { fail(d.backend.Synchronize(), "compute on %s", d.name) }

// allocate returns a storage of n bytes with one handle. It fails with the
// allocator's *alloc.OOMError.
func (d *Device) allocate(n int64, label alloc.Label) *Storage {
	block, err := d.memory.Alloc(n, d.options.Stream, d.tag(label))
	if err != nil {
		fail(err, "allocate %s", describe(n, label))
	}
	s := &Storage{device: d, block: block, bytes: n, refs: 1, label: label}
	d.remember(s)
	d.scope.grow(n)
	return s
}

// tag returns the allocator's tag for a label.
func (d *Device) tag(label alloc.Label) alloc.Tag {
	if d.options.Unnamed {
		label = alloc.Label{Category: label.Category}
	}
	return d.memory.Tag(label)
}
