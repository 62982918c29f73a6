package tensor

import (
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/snapshots/trace"
)

// Storage is one block of device memory with the number of handles on it. It is
// made and released through [Tensor] only.
type Storage struct {
	device  *Device
	block   alloc.Allocation
	bytes   int64
	refs    int
	version int
	label   alloc.Label
	shape   Shape // of the tensor that it was made for
	dtype   device.DType
	watch   watch
	// The copies under way that fill the storage and that read it.
	arriving, leaving *crossing
}

// Bytes returns what was requested for the storage.
func (s *Storage) Bytes() int64 { return s.bytes }

// Allocation returns the allocator's handle, which stays the storage's.
func (s *Storage) Allocation() alloc.Allocation { return s.block }

// Handles returns how many handles there are on the storage.
func (s *Storage) Handles() int { return s.refs }

// Label says what the memory is for.
func (s *Storage) Label() alloc.Label { return s.label }

// Version counts the operations that wrote into the storage in place. Code that
// saves a tensor for later keeps the version, so that it can notice changes.
func (s *Storage) Version() int { return s.version }

// Wrote counts one more write in place. Everything that writes into memory that
// others may have saved calls it, such as an optimizer's step.
func (s *Storage) Wrote() {
	s.leaving.precede(s.device)
	s.version++
}

// Retag says that the memory is for something else from now on: bytes move from
// one category to another, and it records one event.
func (s *Storage) Retag(category trace.Category, layer, role string) {
	label := s.label
	label.Category, label.Layer, label.Role = category, layer, role
	if label == s.label {
		return
	}
	s.label = label
	s.device.memory.Retag(s.block, s.device.tag(label))
}

func (s *Storage) retain() {
	s.refs++
}

func (s *Storage) release() {
	s.refs--
	if s.refs > 0 {
		return
	}
	d := s.device
	d.forget(s)
	d.scope.live -= s.bytes
	if d.options.Poison && s.bytes > 0 {
		d.poison(s)
	}
	d.memory.Free(s.block)
}

// poison fills memory that is about to be freed with NaN, whatever type it is
// read as: all bits set is a NaN in every floating-point type.
func (d *Device) poison(s *Storage) {
	all := device.Array{Addr: s.block.Addr(), Len: int(s.bytes), DType: device.UInt8}
	d.backend.Fill(all, 255)
}
