package imitation_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

// # Tests in a process on an imitated GPU
//
// The library keeps its state per process. So each of these tests starts the test
// program once more for itself alone, with the library as memtop installs it.
// There it calls the library's functions as PyTorch does.

const mebibyte = 1 << 20

// small has 1 GiB, of which CUDA's context takes 64 MiB.
const small = "total=1073741824;context=67108864;devices=2"

// statuses of the runtime and the driver, which share these numbers.
const (
	success       = 0
	invalidValue  = 1
	outOfMemory   = 2
	invalidDevice = 101
	notReady      = 600
)

// onGPU reports whether this process is on an imitated GPU. If it is not, onGPU
// runs the test in a process that is, with more variables, and returns the
// library's report on that process.
func onGPU(t *testing.T, gpu string, variables ...string) (said imitation.Process, inside bool) {
	t.Helper()
	if os.Getenv(imitation.GPUVariable) != "" {
		runtime.LockOSThread() // the last error and the current device are a thread's
		return said, true
	}
	installable(t)
	folder, report := filepath.Join(t.TempDir(), "library"), t.TempDir()
	fatal.If(t, imitation.Install(folder))
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$") //nolint:gosec // it is this program
	again.Env = append(imitation.Environment(os.Environ(), folder), imitation.GPUVariable+"="+gpu, imitation.ReportVariable+"="+report)
	again.Env = append(again.Env, variables...)
	printed, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(printed), "--- PASS: "+t.Name()) {
		t.Fatalf("on an imitated GPU: %v\n%s", err, printed)
	}
	all, err := imitation.ReadReport(report)
	said, reported := all[again.Process.Pid]
	if err != nil || !reported {
		t.Fatalf("of %d processes that reported it is none: %v", len(all), err)
	}
	return said, false
}

// function returns a function of the library that is loaded in this process.
func function[F any](t *testing.T, name string) (f F) {
	t.Helper()
	address, err := purego.Dlsym(purego.RTLD_DEFAULT, name)
	fatal.If(t, err)
	purego.RegisterFunc(&f, address)
	return f
}

func want(t *testing.T, what string, got, want int32) {
	t.Helper()
	if got != want {
		t.Errorf("%s returned %d, not %d", what, got, want)
	}
}

// left returns how much memory the current device has left, in MiB.
func left(t *testing.T) uint64 {
	t.Helper()
	var free, total uint64
	want(t, "cudaMemGetInfo", function[func(*uint64, *uint64) int32](t, "cudaMemGetInfo")(&free, &total), success)
	if total != 1<<30 {
		t.Errorf("the device has %d bytes", total)
	}
	return free / mebibyte
}

// allocate takes device memory that must be there.
func allocate(t *testing.T, size uint64) (address uintptr) {
	t.Helper()
	want(t, "cudaMalloc", function[func(*uintptr, uint64) int32](t, "cudaMalloc")(&address, size), success)
	return address
}

func TestTheDriverIsTheLibraryToo(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	preloaded, err := purego.Dlsym(purego.RTLD_DEFAULT, "cuMemCreate")
	fatal.If(t, err)
	for _, name := range []string{"libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"} {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		fatal.If(t, err)
		if found, err := purego.Dlsym(handle, "cuMemCreate"); err != nil || found != preloaded {
			t.Errorf("%s is another library, or the same with a state of its own: %v", name, err)
		}
	}
	allocate(t, 1) // a process that takes none reports none
}

func TestAnEventMayHappenLate(t *testing.T) {
	if _, inside := onGPU(t, small); !inside {
		return
	}
	allocate(t, 1) // who takes no memory reports nothing
	query, late := function[func(uintptr) int32](t, "cudaEventQuery"), function[func(int32)](t, "memtop_imitation_late")
	want(t, "cudaEventQuery", query(64), success)
	late(3)
	for range 2 {
		want(t, "the first look", query(64), notReady)
		want(t, "the second look", query(64), notReady)
		want(t, "the third look", query(64), success)
	}
	late(1)
	want(t, "cudaEventQuery when all have happened", query(64), success)
}
