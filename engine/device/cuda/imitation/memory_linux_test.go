package imitation_test

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

func TestMemoryUntilThereIsNone(t *testing.T) {
	if said, inside := onGPU(t, small); !inside {
		want := []imitation.Taken{{Now: 896 * mebibyte, Most: 960 * mebibyte, Refused: 2 * mebibyte, Together: 1024 * mebibyte, Sharing: 1}}
		equal.Values(t, "the result", want, said.Devices)
		return
	}
	malloc, free := function[func(*uintptr, uint64) int32](t, "cudaMalloc"), function[func(uintptr) int32](t, "cudaFree")
	last := function[func() int32](t, "cudaGetLastError")
	taken := make(map[uintptr]bool)
	var first uintptr
	for range 15 {
		first = allocate(t, 64*mebibyte)
		if first == 0 || first%(2*mebibyte) != 0 || taken[first] {
			t.Errorf("it begins at %#x", first)
		}
		taken[first] = true
	}
	var none uintptr
	want(t, "cudaMalloc of one byte more", malloc(&none, 1), outOfMemory)
	want(t, "cudaGetLastError", last(), outOfMemory)
	want(t, "cudaGetLastError again", last(), success)
	if none != 0 || left(t) != 0 {
		t.Errorf("there is memory at %#x, and %d MiB are left", none, left(t))
	}
	want(t, "cudaFree in the middle", free(first+1), invalidValue)
	want(t, "cudaFree", free(first), success)
	want(t, "cudaFree again", free(first), invalidValue)
	want(t, "cudaFree of nothing", free(0), success)
	if left(t) != 64 {
		t.Errorf("%d MiB are left", left(t))
	}
}

// TestMemoryLiesWhereTheDriverPutsIt checks that allocations get the lowest free
// addresses, whatever was there before.
func TestMemoryLiesWhereTheDriverPutsIt(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	free := function[func(uintptr) int32](t, "cudaFree")
	const size = 20 * mebibyte
	first := allocate(t, size)
	second, third := allocate(t, size), allocate(t, 1)
	if second != first+size || third != second+size {
		t.Errorf("they begin at %#x, %#x and %#x", first, second, third)
	}
	want(t, "cudaFree", free(first), success)
	if wide := allocate(t, size+1); wide != third+2*mebibyte {
		t.Errorf("what is wider than the hole begins at %#x, and what is before ends at %#x", wide, third+2*mebibyte)
	}
	if small := allocate(t, 2*mebibyte); small != first {
		t.Errorf("what fits into the hole begins at %#x, not %#x", small, first)
	}
	if rest := allocate(t, size-2*mebibyte); rest != first+2*mebibyte {
		t.Errorf("the rest of the hole begins at %#x, not %#x", rest, first+2*mebibyte)
	}
	want(t, "cudaLaunchKernel", function[func() int32](t, "cudaLaunchKernel")(), success)
	if after := allocate(t, size); after != first-224*mebibyte {
		t.Errorf("what is allocated after a kernel begins at %#x, not %#x", after, first-224*mebibyte)
	}
}

func TestMemoryWithoutAnEnd(t *testing.T) {
	if said, inside := onGPU(t, small+";endless=1"); !inside {
		want := []imitation.Taken{{Now: 4096 * mebibyte, Most: 4096 * mebibyte, Together: 4160 * mebibyte, Sharing: 1}}
		equal.Values(t, "the result", want, said.Devices)
		return
	}
	for _, wanted := range []uint64{960, 0, 0, 0} { // the device says that it has what it has, until that is taken
		if got := left(t); got != wanted {
			t.Errorf("%d MiB are left, not %d", got, wanted)
		}
		allocate(t, 1024*mebibyte)
	}
}

func TestADeviceGivesWholePages(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	allocate(t, 1)
	if left(t) != 958 {
		t.Errorf("%d MiB are left after a byte", left(t))
	}
	setDevice := function[func(int32) int32](t, "cudaSetDevice")
	want(t, "cudaSetDevice", setDevice(1), success)
	if left(t) != 960 {
		t.Errorf("the other device has %d MiB left", left(t))
	}
	want(t, "cudaSetDevice of none", setDevice(2), invalidDevice)
}

func TestThreadsTakeAndGiveBack(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	malloc, free := function[func(*uintptr, uint64) int32](t, "cudaMalloc"), function[func(uintptr) int32](t, "cudaFree")
	var threads sync.WaitGroup
	for range 8 {
		threads.Go(func() {
			for range 1000 {
				var address uintptr
				want(t, "cudaMalloc", malloc(&address, 3*mebibyte), success)
				want(t, "cudaFree", free(address), success)
			}
		})
	}
	threads.Wait()
	if left(t) != 960 {
		t.Errorf("%d MiB are left", left(t))
	}
}

// attributes is the struct that cudaPointerGetAttributes writes for CUDA 13. In
// earlier versions it has no field unused.
type attributes struct {
	kind, device int32
	there, here  uintptr
	unused       [8]int64
}

func TestWhatAPointerPointsTo(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	of := function[func(*attributes, uintptr) int32](t, "cudaPointerGetAttributes")
	check := func(what string, address uintptr, expected attributes) {
		t.Helper()
		got := attributes{kind: -1, device: -1}
		want(t, what, of(&got, address), success)
		if got != expected {
			t.Errorf("%s: %+v", what, got)
		}
	}
	want(t, "cudaSetDevice", function[func(int32) int32](t, "cudaSetDevice")(1), success)
	address := allocate(t, 1000)
	check("its last byte", address+2*mebibyte-1, attributes{kind: 2, device: 1, there: address + 2*mebibyte - 1})
	check("the byte before it", address-1, attributes{device: -2})
	want(t, "cudaFree", function[func(uintptr) int32](t, "cudaFree")(address), success)
	check("what was given back", address, attributes{device: -2})

	var pinned uintptr
	want(t, "cudaHostAlloc", function[func(*uintptr, uint64, uint32) int32](t, "cudaHostAlloc")(&pinned, 100, 0), success)
	check("pinned", pinned+99, attributes{kind: 1, device: 1, there: pinned + 99, here: pinned + 99})
	check("behind it", pinned+100, attributes{device: -2})
	want(t, "cudaFreeHost", function[func(uintptr) int32](t, "cudaFreeHost")(pinned), success)
	check("not pinned any more", pinned, attributes{device: -2})

	own := make([]byte, 100)
	at := uintptr(unsafe.Pointer(&own[0]))
	want(t, "cudaHostRegister", function[func(*byte, uint64, uint32) int32](t, "cudaHostRegister")(&own[0], 100, 0), success)
	check("registered", at, attributes{kind: 1, device: 1, there: at, here: at})
	want(t, "cudaHostUnregister", function[func(*byte) int32](t, "cudaHostUnregister")(&own[0]), success)
	check("not registered any more", at, attributes{device: -2})
}

func TestPointersOfCUDA12(t *testing.T) {
	if _, inside := onGPU(t, small, imitation.VersionsVariable+"=cuda=12080"); !inside {
		return
	}
	got := attributes{unused: [8]int64{7}}
	address := allocate(t, 1)
	want(t, "cudaPointerGetAttributes", function[func(*attributes, uintptr) int32](t, "cudaPointerGetAttributes")(&got, address), success)
	if got != (attributes{kind: 2, there: address, unused: [8]int64{7}}) {
		t.Errorf("%+v", got)
	}
}

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
		equal.Values(t, "the result", want, said.Devices)
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
