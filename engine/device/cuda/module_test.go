package cuda_test

import (
	"testing"

	"memtop/engine/device"
	"memtop/engine/device/cuda"
	"memtop/engine/device/cuda/cudatest"
)

// TestModulesAreLoadedWhenTheyAreUsed counts the modules that the driver loads.
func TestModulesAreLoadedWhenTheyAreUsed(t *testing.T) {
	d, driver := open(t, cudatest.Options{Run: func(cudatest.Launched) error { return nil }})
	loads := func(when string, want int) {
		t.Helper()
		if err := d.Synchronize(); err != nil {
			t.Fatal(err)
		}
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

func TestADriverThatIsTooOldShowsWhenTheDeviceIsOpened(t *testing.T) {
	driver := cudatest.New(cudatest.Options{})
	driver.Fail("cuModuleLoadDataEx", 0, 222)
	if _, err := cuda.Open(cuda.Options{Driver: driver}); !cuda.Unavailable(err) {
		t.Errorf("got %v, want an UnavailableError", err)
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
