package kernels_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// watchedDevice is a device of the tests' driver, and its launches.
type watchedDevice struct {
	*cuda.Device
	trial    *cudatest.Driver // of the process that compares kernels
	launched []string
	deepest  int64 // part of a divided product of Hopper's kernels
}

// faulty before a kernel's name means that it does not end well.
const faulty = "faulty "

// count returns how many launched kernels have names with this prefix.
func (w *watchedDevice) count(prefix string) int {
	n := 0
	for _, name := range w.launched {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

// openWatched opens a device of a compute capability, on which the kernel named
// wrong adds 1 to its first sum, or fails. Its kernels are compared with another
// driver, as if in another process.
func openWatched(t *testing.T, major int, wrong string) *watchedDevice {
	t.Helper()
	w := &watchedDevice{}
	compute := cudatest.Kernels(hostLibrary(t))
	o := cudatest.Options{Major: major, Run: func(l cudatest.Launched) error {
		w.launched = append(w.launched, l.Name)
		if strings.HasPrefix(l.Name, "hopper_") {
			if whole, part := kernels.DepthOf(l.Args); part < whole {
				w.deepest = max(w.deepest, part)
			}
		}
		err := compute(l)
		switch l.Name {
		case wrong:
			*(*float32)(pointer(binary.LittleEndian.Uint64(l.Args)))++
		case strings.TrimPrefix(wrong, faulty):
			return errors.New("an illegal instruction")
		}
		return err
	}}
	w.trial = cudatest.New(o)
	try := func(kind device.DType) error { return cuda.Try(cuda.Options{Driver: w.trial}, kind) }
	var err error
	if w.Device, err = cuda.Open(cuda.Options{Driver: cudatest.New(o), Try: try}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// multiplyOnes multiplies 64×64 ones and returns the sums, all of which should
// be 64.
func (w *watchedDevice) multiplyOnes(t *testing.T) []float32 {
	t.Helper()
	const n = 64
	addr, err := w.Malloc(8 * n * n)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Free(addr)
	c := device.Array{Addr: addr, Len: n * n, DType: device.Float32}
	a := device.Array{Addr: addr + 4*n*n, Len: n * n, DType: device.BFloat16}
	w.Upload(a.Buffer(), []byte(strings.Repeat("\x80\x3f", n*n)))
	w.MatMul(device.MatMul{C: c, A: a, B: a, M: n, N: n, K: n}.Plan())
	sums := make([]float32, n*n)
	if err := w.Download(unsafe.Slice((*byte)(unsafe.Pointer(&sums[0])), 4*n*n), c.Buffer()); err != nil {
		t.Fatal(err)
	}
	return sums
}

func TestHopperIsUsedWhereItAgrees(t *testing.T) {
	tests := map[string]struct {
		major       int
		wrong, fail string
		after       int // calls of fail that succeed
		off         string
		want        string
		compared    int // launches of Hopper's kernels for the comparison
		used        bool
	}{
		"Ampere":                              {major: 8, want: "own, by mma.sync"},
		"Blackwell":                           {major: 10, want: "own, by mma.sync"},
		"Hopper":                              {major: 9, want: "own, by wgmma", compared: 5, used: true},
		"one sum is wrong":                    {major: 9, wrong: "hopper_bfloat_tn", compared: 3, want: "own, by mma.sync: bfloat16 product, transposed true and false: wgmma and mma.sync give different sums"},
		"a driver that does not take them":    {major: 9, fail: "cuModuleLoadDataEx", after: 1, want: "own, by mma.sync: loading the kernels hopper_bfloat, machine code for sm_90a: "},
		"a kernel that faults":                {major: 9, wrong: faulty + "hopper_bfloat_nt", compared: 2, want: "own, by mma.sync: cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED (719)"},
		"a trial without memory":              {major: 9, fail: "cuMemAlloc_v2", want: "own, by mma.sync: cuMemAlloc_v2: "},
		"the user does not want them":         {major: 9, off: "off", want: "own, by mma.sync: MEMTOP_CUDA_WGMMA=off"},
		"a driver that has no room for tiles": {major: 9, fail: "cuFuncSetAttribute", want: "own, by mma.sync: kernel hopper_bfloat_nn: cuFuncSetAttribute"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("MEMTOP_CUDA_WGMMA", test.off)
			w := openWatched(t, test.major, test.wrong)
			if test.fail != "" {
				w.trial.Fail(test.fail, test.after, 1)
			}
			const products = 3
			for range products {
				for i, x := range w.multiplyOnes(t) {
					if x != 64 {
						t.Fatalf("sum %d is %v, want 64", i, x)
					}
				}
			}
			if got := w.Products(); !strings.HasPrefix(got, test.want) || strings.Contains(got, "\n") {
				t.Errorf("the products are %q, want %q", got, test.want)
			}
			want := test.compared
			if test.used {
				want += products
			}
			if got := w.count("hopper_"); got != want {
				t.Errorf("Hopper's kernels were launched %d times, want %d", got, want)
			}
		})
	}
}

// TestComparingKernelsLosesNoFailure has a lookup fail before the first product,
// at which the kernels are compared.
func TestComparingKernelsLosesNoFailure(t *testing.T) {
	w := openWatched(t, 9, "")
	addr, err := w.Malloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Free(addr)
	at := func(offset uint64, d device.DType, n int) device.Array {
		return device.Array{Addr: addr + offset, Len: n, DType: d}
	}
	ids := at(0, device.Int32, 1)
	w.Fill(ids, 7)
	w.Gather(at(512, device.Float32, 4), at(1024, device.Float32, 8), ids, 2, 4)
	w.MatMul(device.MatMul{C: at(1536, device.Float32, 64), A: at(2048, device.BFloat16, 64), B: at(2048, device.BFloat16, 64), M: 8, N: 8, K: 8}.Plan())
	if err := w.Synchronize(); err == nil || !strings.Contains(err.Error(), "gather: id 7") {
		t.Errorf("got %v, want the error for an id outside the table", err)
	}
	w.multiplyOnes(t)
	if got := w.Products(); got != "own, by wgmma" {
		t.Errorf("afterwards the products are %q", got)
	}
}

// TestAComparisonGoesAroundThePipeline has every stage of the kernels' pipeline
// used a third time, when the sign of its barrier is again what it was at first.
func TestAComparisonGoesAroundThePipeline(t *testing.T) {
	w := openWatched(t, 9, "")
	w.multiplyOnes(t) // which is not deep
	const stages, tile = 3, 64
	if w.deepest <= (3*stages-1)*tile {
		t.Errorf("the deepest part of a divided product compared is of %d, which does not use every stage three times", w.deepest)
	}
}
