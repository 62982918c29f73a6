package tensor

import "github.com/memtop/memtop/engine/alloc"

// # Memory in a file
//
// A host can have memory whose contents lie in a file. That memory is a device of
// its own, with its own allocator. The host's operations reach it, so a tensor there
// is computed with where it lies, and only what outlives an operation should be
// there.

// filed is a host's backend that can map a file.
type filed interface {
	OpenFile(path string) (alloc.Driver, error)
	CloseFile() error
}

// FileName is the name of the allocator of every file.
const FileName = "file"

// CheckFile fails if File would fail for the device's host and a path. Safe for
// concurrent use.
func (d *Device) CheckFile(path string) error {
	return d.machine.(interface{ CheckFile(path string) error }).CheckFile(path)
}

// File returns a host's memory in a file. It fails when the file cannot be used; see
// package cpu. A host has one file at a time, which CloseFile ends.
func (d *Device) File(path string) *Device {
	if d.file == nil {
		driver, err := d.machine.(filed).OpenFile(path)
		fail(err, "open a file for tensors")
		memory, err := alloc.New(driver, alloc.Options{Name: FileName})
		fail(err, "open %s for tensors", path)
		d.file = NewDevice(FileName, memory, d.machine, Options{Poison: d.options.Poison, Unnamed: true})
		d.file.base = d
	}
	return d.file
}

// CloseFile removes a host's file, if there is one. No tensor may be left in it.
func (d *Device) CloseFile() {
	if d.file != nil {
		d.file.memory.EmptyCache()
		d.file = nil
		fail(d.machine.(filed).CloseFile(), "remove a file for tensors")
	}
}

// FileMemory returns the allocator of the file of the device's host, nil if there is
// none.
func (d *Device) FileMemory() *alloc.Allocator {
	if d.host == nil || d.host.file == nil {
		return nil
	}
	return d.host.file.memory
}

// Computes returns the device that computes with tensors of this one: itself, or the
// host of a file.
func (d *Device) Computes() *Device {
	if d.base != nil {
		return d.base
	}
	return d
}
