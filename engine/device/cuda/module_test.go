package cuda_test

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
)

// TestModulesAreLoadedWhenTheyAreUsed counts the modules that the driver loads.
func TestModulesAreLoadedWhenTheyAreUsed(t *testing.T) {
	d, driver := open(t, cudatest.Options{Run: func(cudatest.Launched) error { return nil }})
	loads := func(when string, want int) {
		t.Helper()
		fatal.If(t, d.Synchronize())
		if got := driver.Calls("cuModuleLoadDataEx"); got != want {
			t.Errorf("%s: %d modules are loaded, want %d", when, got, want)
		}
	}
	loads("after opening", 1)
	x := device.ArrayOf(buffer(t, d, 1<<12), device.Float32, 1<<10)
	d.Fill(x, 1)
	loads("after an element-wise kernel", 2)
	d.Scale(x, x, 2)
	loads("after another of the same module", 2)
	d.MatMul(device.MatMul{C: x, A: x, B: x, M: 8, N: 8, K: 8}.Plan())
	loads("after a product", 3)
	if got := driver.Calls("cuModuleGetFunction"); got != 3 {
		t.Errorf("%d kernels were looked up, want 3", got)
	}
}

// TestADeviceLoadsTheCodeThatItRuns opens devices and compares what the driver
// loads, and the line that says why it has to compile.
func TestADeviceLoadsTheCodeThatItRuns(t *testing.T) {
	tests := map[string]struct {
		options cudatest.Options
		want    string
		notice  string // what the only line contains; no line if it is empty
	}{
		"machine code of its own":            {cudatest.Options{Major: 9}, "sm_90", ""},
		"machine code of an earlier one":     {cudatest.Options{Major: 12, Minor: 1}, "sm_120", ""},
		"no machine code":                    {cudatest.Options{Major: 11}, "PTX", "no machine code for compute capability 11.0"},
		"a driver that refuses machine code": {cudatest.Options{Major: 8, Minor: 9, NoImages: 209}, "PTX", "convolutions, machine code for sm_80: cuModuleLoadDataEx: CUDA_ERROR_NO_BINARY_FOR_GPU"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.options.Run = func(cudatest.Launched) error { return nil }
			driver := cudatest.New(test.options)
			var lines []string
			d, err := cuda.Open(cuda.Options{Driver: driver, Notice: func(line string) { lines = append(lines, line) }})
			fatal.If(t, err)
			t.Cleanup(func() {
				fatal.If(t, d.Close())
			})
			d.Fill(device.ArrayOf(buffer(t, d, 1<<12), device.Float32, 1<<10), 1)
			fatal.If(t, d.Synchronize())
			equal.Values(t, "the result", []string{test.want, test.want}, driver.Loads())
			said := strings.Join(lines, "\n")
			if (said == "") != (test.notice == "") || !strings.Contains(said, test.notice) || strings.Contains(said, "\n") {
				t.Errorf("it says %q, want one line with %q", said, test.notice)
			}
		})
	}
}

func TestADriverThatIsTooOldShowsWhenTheDeviceIsOpened(t *testing.T) {
	driver := cudatest.New(cudatest.Options{NoImages: 209, NoPTX: 222})
	if _, err := cuda.Open(cuda.Options{Driver: driver}); !cuda.Unavailable(err) {
		t.Errorf("got %v, want an UnavailableError", err)
	}
}

func TestAKernelThatLacksMemoryGetsTheAllocatorsCache(t *testing.T) {
	for _, entry := range []string{"cuModuleLoadDataEx", "cuModuleGetFunction", "cuLaunchKernel"} {
		t.Run(entry, func(t *testing.T) {
			d, driver := open(t, cudatest.Options{Run: func(cudatest.Launched) error { return nil }})
			a, err := alloc.New(d, alloc.Options{})
			fatal.If(t, err)
			cached, err := a.Alloc(64*mib, cuda.ComputeStream, alloc.Tag{})
			fatal.If(t, err)
			x := device.ArrayOf(buffer(t, d, 64), device.Float32, 16)
			a.Free(cached)
			before := driver.Used()
			driver.Fail(entry, 0, 2)
			d.Fill(x, 1)
			fatal.If(t, d.Synchronize())
			if got := before - driver.Used(); got != 64*mib {
				t.Errorf("%d bytes of the cache were released, want all 64 MiB", got)
			}
			if got := driver.Calls(entry); got < 2 {
				t.Errorf("%s was called %d times", entry, got)
			}
		})
	}
}

func TestAModuleThatDoesNotLoadIsAFailureOfItsQueue(t *testing.T) {
	d, driver := open(t, cudatest.Options{})
	x := device.ArrayOf(buffer(t, d, 64), device.Float32, 16)
	driver.Fail("cuModuleLoadDataEx", 0, 2)
	d.Fill(x, 1)
	if err := d.Synchronize(); err == nil {
		t.Error("no failure")
	}
}
