package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/ebitengine/purego"
)

// library is the driver's shared library.
type library struct {
	path string
	fn   [symbolCount]uintptr
}

// Call implements Driver.
func (l *library) Call(s Symbol, args ...uintptr) Result {
	r, _, _ := purego.SyscallN(l.fn[s], args...)
	return Result(r)
}

// blasShared is the shared library of cuBLASLt.
type blasShared struct{ fn [blasSymbolCount]uintptr }

func (l *blasShared) call(s blasSymbol, args ...uintptr) int32 {
	r, _, _ := purego.SyscallN(l.fn[s], args...)
	return int32(r)
}

// driverNames and blasLibraryNames are the names of the libraries, the preferred
// one first.
var (
	driverNames      = []string{"libcuda.so.1", "libcuda.so"}
	blasLibraryNames = []string{"libcublasLt.so.13", "libcublasLt.so.12"}
)

// openLibrary loads the driver. Without one it returns the loader's error.
func openLibrary() (Driver, error) {
	handle, path, err := load(driverNames)
	if err != nil {
		return nil, &UnavailableError{"no NVIDIA driver is installed", err}
	}
	l := &library{path: path}
	runtime.LockOSThread() // as load does
	defer runtime.UnlockOSThread()
	for s, name := range symbolNames {
		fn, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, &UnavailableError{fmt.Sprintf("the driver %s is too old: it has no %s", path, name), err}
		}
		l.fn[s] = fn
	}
	return l, nil
}

// openBLAS loads cuBLASLt; it returns nil if none can be used.
func openBLAS() blasLibrary {
	handle, _, err := load(blasLibraryNames)
	if err != nil {
		return nil
	}
	l := new(blasShared)
	for s, name := range blasNames {
		if l.fn[s], err = purego.Dlsym(handle, name); err != nil {
			return nil
		}
	}
	return l
}

// load loads the first library that is found: in MEMTOP_CUDA_LIB_DIR, the
// loader's folders, the toolkit, a Python environment. The loader keeps the
// reason of a failure for the thread that met it: the goroutine stays there until
// it has read it.
func load(names []string) (handle uintptr, path string, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var first error
	for _, name := range names {
		for _, path := range places(name) {
			handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
			if err == nil {
				return handle, path, nil
			}
			if first == nil {
				first = err
			}
		}
	}
	return 0, "", first
}

// places are the paths under which a library may be, in the order of preference.
func places(name string) []string {
	var list []string
	if dir := os.Getenv("MEMTOP_CUDA_LIB_DIR"); dir != "" {
		list = append(list, filepath.Join(dir, name))
	}
	list = append(list, name)
	for _, dir := range []string{"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib/wsl/lib"} {
		list = append(list, filepath.Join(dir, name))
	}
	if env := os.Getenv("VIRTUAL_ENV"); env != "" {
		// PyTorch's wheels contain it, in folders named for versions.
		found, _ := filepath.Glob(filepath.Join(env, "lib/python3*/site-packages/nvidia/*/lib", name))
		list = append(list, found...)
	}
	return list
}
