package imitation_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

// numbers are the numbers of the driver's attributes that a GPU's variable sets.
var numbers = map[string]int32{
	"l2": 38, "major": 75, "minor": 76, "processors": 16, "threads_per_processor": 39, "blocks_per_processor": 106,
	"registers_per_processor": 82, "shared_per_processor": 81, "shared_optin": 97, "shared_reserved": 111,
}

func TestTheLibraryIsTheGPUOfItsVariable(t *testing.T) {
	g := imitation.GPU{Title: "Another GPU", Total: 3 << 30, Context: 1 << 30, L2: 5 << 20, Capability: "8.6", Processors: 13, Channels: 7}
	if _, inside := onGPU(t, g.Variable(3, false)); !inside {
		return
	}
	allocate(t, 1)
	for pair := range strings.SplitSeq(os.Getenv(imitation.GPUVariable), ";") {
		key, value, _ := strings.Cut(pair, "=")
		if got := answer(t, key); got != value {
			t.Errorf("%s is %s, not %s", key, got, value)
		}
	}
}

// answer asks the library for a figure of the GPU.
func answer(t *testing.T, key string) string {
	t.Helper()
	var free, total uint64
	var number int32
	switch attribute, is := numbers[key]; {
	case key == "title":
		name := make([]byte, 64)
		want(t, "cuDeviceGetName", function[func([]byte, int32, int32) int32](t, "cuDeviceGetName")(name, 64, 0), success)
		text, _, _ := strings.Cut(string(name), "\x00")
		return text
	case key == "devices":
		want(t, "cudaGetDeviceCount", function[func(*int32) int32](t, "cudaGetDeviceCount")(&number), success)
	case key == "total" || key == "context":
		want(t, "cuMemGetInfo_v2", function[func(*uint64, *uint64) int32](t, "cuMemGetInfo_v2")(&free, &total), success)
		if key == "total" {
			return strconv.FormatUint(total, 10)
		}
		return strconv.FormatUint(total-free-2*mebibyte, 10) // less what is allocated
	case key == "channels":
		return strconv.FormatUint(connections(t, 3)[1]/(14*mebibyte), 10)
	case is:
		want(t, "cudaDeviceGetAttribute", function[func(*int32, int32, int32) int32](t, "cudaDeviceGetAttribute")(&number, attribute, 0), success)
	default:
		t.Errorf("nobody asks for %s", key)
	}
	return strconv.Itoa(int(number))
}

func TestVisibleDevices(t *testing.T) {
	for visible, devices := range map[string]int32{"0": 1, "1,0": 2, "0,1,2,3": 2, "0,-1,1": 1} {
		t.Run(visible, func(t *testing.T) {
			if _, inside := onGPU(t, small, "CUDA_VISIBLE_DEVICES="+visible); !inside {
				return
			}
			allocate(t, 1)
			var count int32
			want(t, "cudaGetDeviceCount", function[func(*int32) int32](t, "cudaGetDeviceCount")(&count), success)
			if count != devices {
				t.Errorf("there are %d devices", count)
			}
		})
	}
}

func TestKernelsAreOfACapabilityThatPyTorchIsCompiledFor(t *testing.T) {
	for device, code := range map[string]int32{"6.1": 60, "7.5": 75, "8.6": 86, "8.9": 86, "9.0": 90, "10.3": 100, "12.1": 120} {
		t.Run(device, func(t *testing.T) {
			g := imitation.GPU{Title: "A GPU", Total: 1 << 30, Capability: device, Processors: 1}
			if _, inside := onGPU(t, g.Variable(1, false)); !inside {
				return
			}
			allocate(t, 1)
			attributes := make([]byte, 144)
			want(t, "cudaFuncGetAttributes", function[func([]byte, uintptr) int32](t, "cudaFuncGetAttributes")(attributes, 0), success)
			for _, at := range []int{32, 36} { // of the text and of the machine code
				if got := int32(binary.NativeEndian.Uint32(attributes[at:])); got != code {
					t.Errorf("at %d it is %d, not %d", at, got, code)
				}
			}
		})
	}
}

// TestExecutionsOfCuDNNKeepNothing executes with packs of a mebibyte.
func TestExecutionsOfCuDNNKeepNothing(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	allocate(t, 1)
	const variantPack, pointers, address = 16, 1002, 6
	data := make([]byte, mebibyte)
	for range 256 {
		var pack uintptr
		want(t, "cudnnBackendCreateDescriptor", function[func(int32, *uintptr) int32](t, "cudnnBackendCreateDescriptor")(variantPack, &pack), success)
		set := function[func(uintptr, int32, int32, int64, []byte) int32](t, "cudnnBackendSetAttribute")
		want(t, "cudnnBackendSetAttribute", set(pack, pointers, address, mebibyte/8, data), success)
		want(t, "cudnnBackendDestroyDescriptor", function[func(uintptr) int32](t, "cudnnBackendDestroyDescriptor")(pack), success)
	}
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil || use.Maxrss > 128<<10 {
		t.Errorf("the process had %d KiB (%v)", use.Maxrss, err)
	}
}

func TestWhatIsNotImitatedIsReported(t *testing.T) {
	if said, inside := onGPU(t, small); !inside {
		want := imitation.Process{
			Devices: []imitation.Taken{{Now: 32 * mebibyte, Most: 32 * mebibyte, Together: 96 * mebibyte, Sharing: 1}},
			// The count is said when it has doubled.
			Gaps:     []imitation.Gap{{Function: "nvmlDeviceGetNvLinkState", Caller: filepath.Base(os.Args[0]), Count: 4}},
			Modelled: []string{"pools of cudaMallocAsync: chunks of 32 MiB without gaps"},
		}
		equal.Values(t, "the result", want, said)
		return
	}
	const notSupportedByNVML = 3
	for range 5 {
		want(t, "nvmlDeviceGetNvLinkState", function[func() int32](t, "nvmlDeviceGetNvLinkState")(), notSupportedByNVML)
	}
	var address uintptr
	for range 2 {
		want(t, "cudaMallocAsync", function[func(*uintptr, uint64, uintptr) int32](t, "cudaMallocAsync")(&address, 1000, 0), success)
	}
}

// TestTheTwoImitationsOfADriverAgree opens the engine's CUDA device over the
// library, and over the driver of the engine's own tests. The device must report
// the same GPU, and grant and refuse the same memory.
func TestTheTwoImitationsOfADriverAgree(t *testing.T) {
	const total, context = 1 << 30, 64 << 20
	a100, _ := imitation.Find("a100-80gb")
	a100.Total, a100.Context = total, context
	if _, inside := onGPU(t, a100.Variable(1, false)); !inside {
		return
	}
	library, err := cuda.Open(cuda.Options{OwnProducts: true})
	fatal.If(t, err)
	ofTests, err := cuda.Open(cuda.Options{OwnProducts: true, Driver: cudatest.New(cudatest.Options{Capacity: total - context})})
	fatal.If(t, err)
	a, b := library.Info(), ofTests.Info()
	if a.Name != a100.Title || a.Memory != total {
		t.Errorf("the engine sees %+v", a)
	}
	if a.Major != b.Major || a.Minor != b.Minor || a.VirtualMemory != b.VirtualMemory {
		t.Errorf("by the library %+v, by the driver for tests %+v", a, b)
	}
	for _, d := range []*cuda.Device{library, ofTests} {
		allocates(t, d)
		fatal.If(t, d.Close())
	}
}

// allocates takes memory that is available, and is refused memory that is not.
func allocates(t *testing.T, d *cuda.Device) {
	t.Helper()
	const half = 512 << 20
	before, _ := d.MemInfo()
	at, err := d.Malloc(half)
	fatal.If(t, err)
	if left, _ := d.MemInfo(); before-left != half {
		t.Errorf("%d bytes are gone", before-left)
	}
	if _, err := d.Malloc(before); !errors.Is(err, alloc.ErrNoMemory) {
		t.Errorf("more than there is: %v", err)
	}
	d.Free(at)
	if left, _ := d.MemInfo(); left != before {
		t.Errorf("%d bytes are left, before there were %d", left, before)
	}
}
