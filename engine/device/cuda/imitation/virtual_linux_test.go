package imitation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

// properties of memory: what is published as CUmemAllocationProp, with room for its end.
type properties struct {
	kind, _, locationKind, location int32 // the second is the kinds of handles
	_                               [4]int64
}

// virtual are the driver's functions for memory that is created and mapped.
type virtual struct {
	create  func(*uintptr, uint64, *properties, uint64) int32
	release func(uintptr) int32
	reserve func(*uintptr, uint64, uint64, uintptr, uint64) int32
	unserve func(uintptr, uint64) int32
	mapTo   func(uintptr, uint64, uint64, uintptr, uint64) int32
	unmap   func(uintptr, uint64) int32
	retain  func(*uintptr, uintptr) int32
}

func loadVirtual(t *testing.T) virtual {
	t.Helper()
	return virtual{
		function[func(*uintptr, uint64, *properties, uint64) int32](t, "cuMemCreate"),
		function[func(uintptr) int32](t, "cuMemRelease"),
		function[func(*uintptr, uint64, uint64, uintptr, uint64) int32](t, "cuMemAddressReserve"),
		function[func(uintptr, uint64) int32](t, "cuMemAddressFree"),
		function[func(uintptr, uint64, uint64, uintptr, uint64) int32](t, "cuMemMap"),
		function[func(uintptr, uint64) int32](t, "cuMemUnmap"),
		function[func(*uintptr, uintptr) int32](t, "cuMemRetainAllocationHandle"),
	}
}

// of a device, as the allocator's expandable segments ask for it.
func of(device int32) *properties {
	return &properties{kind: 1, locationKind: 1, location: device}
}

func TestMappedMemoryIsTakenUntilNobodyHasIt(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	v := loadVirtual(t)
	expect := func(what string, status int32, mebibytes uint64) {
		t.Helper()
		want(t, what, status, success)
		if got := left(t); got != mebibytes {
			t.Errorf("after %s %d MiB are left, not %d", what, got, mebibytes)
		}
	}
	var addresses, memory, again uintptr
	expect("addresses", v.reserve(&addresses, 2048*mebibyte, 0, 0, 0), 960)
	expect("memory", v.create(&memory, 20*mebibyte, of(0), 0), 940)
	expect("mapping", v.mapTo(addresses, 20*mebibyte, 0, memory, 0), 940)
	expect("releasing what is mapped", v.release(memory), 940)
	expect("retaining it", v.retain(&again, addresses+20*mebibyte-1), 940)
	expect("unmapping what is retained", v.unmap(addresses, 20*mebibyte), 940)
	expect("releasing it", v.release(again), 960)

	expect("memory", v.create(&memory, 20*mebibyte, of(0), 0), 940)
	expect("releasing what was never mapped", v.release(memory), 960)
	expect("giving the addresses back", v.unserve(addresses, 2048*mebibyte), 960)
	want(t, "cuMemAddressFree again", v.unserve(addresses, 2048*mebibyte), invalidValue)
}

// PyTorch fills the range with the lowest addresses first, so their order must not
// depend on what else the process has mapped.
func TestAddressesAreReservedUpwards(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	v := loadVirtual(t)
	allocate(t, 1) // who takes no memory reports nothing
	var first, second, third, again uintptr
	want(t, "cuMemAddressReserve", v.reserve(&first, 20*mebibyte, 0, 0, 0), success)
	want(t, "cuMemAddressReserve", v.reserve(&second, 2*mebibyte, 0, 0, 0), success)
	want(t, "cuMemAddressFree", v.unserve(first, 20*mebibyte), success)
	want(t, "cuMemAddressReserve", v.reserve(&third, 40*mebibyte, 0, 0, 0), success)
	want(t, "cuMemAddressReserve", v.reserve(&again, 20*mebibyte, 0, 0, 0), success)
	if second != first+20*mebibyte || third != second+2*mebibyte || again != first {
		t.Errorf("they begin at %#x, %#x, %#x and %#x", first, second, third, again)
	}
}

func TestMemoryMappedTwice(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	v := loadVirtual(t)
	var addresses, memory uintptr
	want(t, "cuMemAddressReserve", v.reserve(&addresses, 8*mebibyte, 0, 0, 0), success)
	want(t, "cuMemCreate", v.create(&memory, 4*mebibyte, of(0), 0), success)
	for _, offset := range []uintptr{0, 4 * mebibyte} {
		want(t, "cuMemMap", v.mapTo(addresses+offset, 4*mebibyte, 0, memory, 0), success)
	}
	want(t, "cuMemRelease", v.release(memory), success)
	want(t, "cuMemUnmap", v.unmap(addresses, 4*mebibyte), success)
	if left(t) != 956 {
		t.Errorf("it is still mapped, and %d MiB are left", left(t))
	}
	want(t, "cuMemUnmap", v.unmap(addresses+4*mebibyte, 4*mebibyte), success)
	want(t, "cuMemUnmap of nothing", v.unmap(addresses, 8*mebibyte), invalidValue)
	if left(t) != 960 {
		t.Errorf("%d MiB are left", left(t))
	}
}

func TestMemoryThatCannotBeCreated(t *testing.T) {
	if said, inside := onGPU(t, small); !inside {
		want := []imitation.Taken{{Refused: 962 * mebibyte}, {Place: 1, Now: 960 * mebibyte, Most: 960 * mebibyte, Together: 1024 * mebibyte, Sharing: 1}}
		if diff := cmp.Diff(want, said.Devices); diff != "" {
			t.Error(diff)
		}
		return
	}
	v := loadVirtual(t)
	var memory, granularity uintptr
	ask := function[func(*uintptr, *properties, int32) int32](t, "cuMemGetAllocationGranularity")
	want(t, "cuMemGetAllocationGranularity", ask(&granularity, of(0), 0), success)
	if granularity != 2*mebibyte {
		t.Errorf("memory is created in units of %d", granularity)
	}
	want(t, "cuMemCreate of half a unit", v.create(&memory, mebibyte, of(0), 0), invalidValue)
	want(t, "cuMemCreate of nothing", v.create(&memory, 0, of(0), 0), invalidValue)
	want(t, "cuMemCreate on no device", v.create(&memory, 2*mebibyte, of(2), 0), invalidDevice)
	want(t, "cuMemCreate of too much", v.create(&memory, 962*mebibyte, of(0), 0), outOfMemory)
	want(t, "cuMemCreate of all there is", v.create(&memory, 960*mebibyte, of(1), 0), success)
	if left(t) != 960 {
		t.Errorf("the memory was the other device's, but %d MiB are left", left(t))
	}
}
