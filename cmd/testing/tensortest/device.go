// Package tensortest opens devices for tests of code that computes with tensors.
package tensortest

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/tensor"
)

// Device opens cpu:0 with 256 MiB, in poison mode unless it is for a benchmark.
// The test fails if memory is still allocated at its end.
func Device(t testing.TB) *tensor.Device {
	t.Helper()
	return DeviceOf(t, 256<<20)
}

// DeviceOf is Device with a capacity in bytes.
func DeviceOf(t testing.TB, capacity int64) *tensor.Device {
	t.Helper()
	d, machine := open(t, capacity)
	t.Cleanup(func() {
		finish(t, d, machine)
		if err := machine.Close(); err != nil {
			t.Errorf("closing the device: %v", err)
		}
	})
	return d
}

// FailingDevice is Device for a test that makes the device itself fail. Such a
// device reports its failure for ever.
func FailingDevice(t testing.TB) *tensor.Device {
	t.Helper()
	d, machine := open(t, 256<<20)
	t.Cleanup(func() {
		if err := machine.Synchronize(); err == nil && !t.Failed() {
			t.Error("the device did not fail")
		}
		if err := machine.Close(); err != nil {
			t.Errorf("closing the device: %v", err)
		}
	})
	return d
}

func open(t testing.TB, capacity int64) (*tensor.Device, *cpu.Device) {
	t.Helper()
	machine, err := cpu.Open(cpu.Options{Capacity: capacity, Threads: 2})
	fatal.If(t, err)
	memory, err := alloc.New(machine.Memory, alloc.Options{Name: "cpu:0"})
	fatal.If(t, err)
	_, benchmark := t.(*testing.B)
	return tensor.NewDevice("cpu:0", memory, machine.Backend, tensor.Options{Poison: !benchmark}), machine
}

func finish(t testing.TB, d *tensor.Device, machine *cpu.Device) {
	t.Helper()
	if t.Failed() {
		return
	}
	d.Land()
	stats := d.Memory().Stats()
	if live := stats.RequestedBytes.All.Current; d.Live() != 0 || live != 0 {
		t.Errorf("at the end of the test %d bytes are live (the allocator says %d), want 0", d.Live(), live)
	}
	if h := d.HostMemory(); h != nil && h.Stats().RequestedBytes.All.Current != 0 {
		t.Errorf("at the end of the test %d bytes are on the host, want 0", h.Stats().RequestedBytes.All.Current)
	}
	if err := machine.Synchronize(); err != nil {
		t.Errorf("the device failed: %v", err)
	}
}
