package imitation_test

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// copies are the runtime's functions for the bytes on a device.
type copies struct {
	in     func(uintptr, []byte, uint64, int32) int32
	out    func([]byte, uintptr, uint64, int32) int32
	across func(uintptr, uintptr, uint64, int32) int32
	set    func(uintptr, int32, uint64) int32
	launch func() int32
}

func loadCopies(t *testing.T) copies {
	t.Helper()
	return copies{
		function[func(uintptr, []byte, uint64, int32) int32](t, "cudaMemcpy"),
		function[func([]byte, uintptr, uint64, int32) int32](t, "cudaMemcpy"),
		function[func(uintptr, uintptr, uint64, int32) int32](t, "cudaMemcpy"),
		function[func(uintptr, int32, uint64) int32](t, "cudaMemset"),
		function[func() int32](t, "cudaLaunchKernel"),
	}
}

// The directions of cudaMemcpy. The library finds the direction from the
// addresses.
const toDevice, toHost, onDevice = 1, 2, 3

func (c *copies) write(t *testing.T, address uintptr, content []byte) {
	t.Helper()
	want(t, "cudaMemcpy to the device", c.in(address, content, uint64(len(content)), toDevice), success)
}

// expect reads bytes of the device into a place that had others.
func (c *copies) expect(t *testing.T, what string, address uintptr, expected []byte) {
	t.Helper()
	got := bytes.Repeat([]byte{0xee}, len(expected))
	want(t, "cudaMemcpy from the device", c.out(got, address, uint64(len(got)), toHost), success)
	if !bytes.Equal(got, expected) {
		t.Errorf("%s: % x, not % x", what, got[:min(16, len(got))], expected[:min(16, len(got))])
	}
}

func TestSmallCopiesComeBack(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	c := loadCopies(t)
	address := allocate(t, mebibyte)
	c.expect(t, "never written", address, make([]byte, 100))
	c.write(t, address+8, []byte("content"))
	c.expect(t, "written", address+8, []byte("content"))
	c.expect(t, "a part", address+9, []byte("ontent"))
	c.expect(t, "with what is around it", address+6, []byte("\x00\x00content\x00"))
	c.write(t, address+8, []byte("changed"))
	c.expect(t, "written again", address+8, []byte("changed"))
	want(t, "cudaMemcpy on the device", c.across(address+100, address+8, 7, onDevice), success)
	c.expect(t, "copied", address+100, []byte("changed"))
	want(t, "cudaMemset", c.set(address+8, 0x41, 3), success)
	c.expect(t, "set", address+8, []byte("AAA"))
	want(t, "cudaMemset", c.set(address+8, 0, 3), success)
	c.expect(t, "set to zeros", address+8, make([]byte, 3))
	want(t, "cudaMemcpy of what is not known", c.across(address+100, address+500, 7, onDevice), success)
	c.expect(t, "overwritten by what is not known", address+100, make([]byte, 7))
}

func TestWhatMayHaveChangedIsNotKnown(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	c := loadCopies(t)
	address := allocate(t, mebibyte)
	large := bytes.Repeat([]byte{7}, 64<<10)
	c.write(t, address, large)
	c.expect(t, "the largest that is kept", address, large)
	c.write(t, address, append(large, 7))
	c.expect(t, "larger", address, make([]byte, 64<<10))

	c.write(t, address, []byte("content"))
	for range 16 {
		want(t, "cudaLaunchKernel", c.launch(), success)
	}
	c.expect(t, "after few kernels", address, []byte("content"))
	want(t, "cudaLaunchKernel", c.launch(), success)
	c.expect(t, "after many kernels", address, make([]byte, 7))
}

func TestReadsAreToldOf(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	c := loadCopies(t)
	address := allocate(t, mebibyte)
	type read struct {
		bytes uint64
		known int32
	}
	var reads []read
	tell := function[func(uintptr)](t, "memtop_imitation_on_read")
	var answer byte
	tell(purego.NewCallback(func(at *byte, bytes uint64, known int32) uintptr {
		reads = append(reads, read{bytes, known})
		if answer != 0 {
			*at = answer
		}
		return 0
	}))
	c.write(t, address, []byte("content"))
	c.expect(t, "written", address, []byte("content"))
	c.expect(t, "partly written", address, []byte("content\x00"))
	c.expect(t, "large", address+1024, make([]byte, 64<<10+1))
	want(t, "cudaMemcpy on the device", c.across(address+100, address, 7, onDevice), success)
	answer = 9
	c.expect(t, "answered by who is told", address+1024, []byte{9})
	tell(0)
	c.expect(t, "nobody is told", address, []byte("content"))
	if want := []read{{7, 1}, {8, 0}, {64<<10 + 1, 0}, {1, 0}}; !slices.Equal(reads, want) {
		t.Errorf("reads %v", reads)
	}
}

// TestLargeReadsIntoPinnedMemoryTakeNoMemory has one leave what is beside it as it is.
func TestLargeReadsIntoPinnedMemoryTakeNoMemory(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	const size, beside = 64 * mebibyte, 100
	var pinned unsafe.Pointer
	want(t, "cudaMallocHost", function[func(*unsafe.Pointer, uint64) int32](t, "cudaMallocHost")(&pinned, size), success)
	memory := unsafe.Slice((*byte)(pinned), size)
	for i := range memory {
		memory[i] = 0xee
	}
	before := resident(t)
	c := loadCopies(t)
	want(t, "cudaMemcpy from the device", c.out(memory[beside:size-beside], allocate(t, size), size-2*beside, toHost), success)
	if now := resident(t); now > before-size/2 {
		t.Errorf("resident with %d bytes before, %d after", before, now)
	}
	for i, b := range memory {
		if inside := i >= beside && i < size-beside; inside != (b == 0) {
			t.Fatalf("byte %d is %#x", i, b)
		}
	}
}

// resident returns how many bytes of this process's memory there are.
func resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
