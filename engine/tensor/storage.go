package tensor

import (
	"fmt"
	"runtime"

	"memtop/engine/alloc"
	"memtop/engine/device"
)

// Storage is one block of device memory with the number of handles on it. It is
// made and released through [Tensor] only.
type Storage struct {
	device  *Device
	block   alloc.Block
	bytes   int64
	refs    int
	version int
	label   alloc.Label
	leak    *leakReport
}

// Bytes returns what was requested for the storage.
func (s *Storage) Bytes() int64 { return s.bytes }

// Handles returns how many handles there are on the storage.
func (s *Storage) Handles() int { return s.refs }

// Label says what the memory is for.
func (s *Storage) Label() alloc.Label { return s.label }

// Version counts the operations that wrote into the storage in place. Whoever
// saves a tensor to read it later remembers the version to notice changes.
func (s *Storage) Version() int { return s.version }

// Wrote counts one more write in place. Everything that writes into memory that
// others may have saved calls it, such as an optimizer's step.
func (s *Storage) Wrote() { s.version++ }

// Retag says that the memory is for something else from now on: bytes move from
// one category to another, and one event tells so.
func (s *Storage) Retag(category alloc.Category, layer, role string) {
	label := s.label
	label.Category, label.Layer, label.Role = category, layer, role
	if label == s.label {
		return
	}
	s.label = label
	memory := s.device.memory
	memory.Retag(s.block, memory.Tag(label))
}

func (s *Storage) retain() {
	s.refs++
}

func (s *Storage) release() {
	s.refs--
	if s.refs > 0 {
		return
	}
	s.leak.dropped()
	d := s.device
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

// leakReport lets the garbage collector say that a storage was lost: it is
// shared by the storage and by the report of its loss, so it must not point to
// the storage.
type leakReport struct {
	cleanup runtime.Cleanup
}

func (d *Device) watch(s *Storage) *leakReport {
	if d.options.OnLeak == nil {
		return nil
	}
	report, lost := d.options.OnLeak, fmt.Sprintf("%+v, %d bytes", s.label, s.bytes)
	return &leakReport{cleanup: runtime.AddCleanup(s, func(lost string) { report(lost) }, lost)}
}

func (r *leakReport) dropped() {
	if r != nil {
		r.cleanup.Stop()
	}
}
