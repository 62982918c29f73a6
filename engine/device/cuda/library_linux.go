package cuda

import (
	"fmt"
	"os"
	"path/filepath"

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

// librariesIn are the places where a library is looked for before and after the
// loader's own, which is asked by the bare name.
func librariesIn(name string) []string {
	var places []string
	if dir := os.Getenv("MEMTOP_CUDA_LIB_DIR"); dir != "" {
		places = append(places, filepath.Join(dir, name))
	}
	return append(places, name,
		filepath.Join("/usr/local/cuda/lib64", name),
		filepath.Join("/usr/lib/x86_64-linux-gnu", name),
		filepath.Join("/usr/lib/wsl/lib", name))
}

// driverNames are the names of the driver's library, the more exact first.
var driverNames = []string{"libcuda.so.1", "libcuda.so"}

// openLibrary loads the driver. Without one the error says so in the loader's
// words about the first name.
func openLibrary() (Driver, error) {
	var first error
	for _, name := range driverNames {
		for _, path := range librariesIn(name) {
			handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
			if err != nil {
				first = firstOf(first, err)
				continue
			}
			return resolve(handle, path)
		}
	}
	return nil, &UnavailableError{"no NVIDIA driver is installed", first}
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// resolve finds the entry points. A driver that lacks one is too old.
func resolve(handle uintptr, path string) (Driver, error) {
	l := &library{path: path}
	for s, name := range symbolNames {
		fn, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, &UnavailableError{fmt.Sprintf("the driver %s is too old: it has no %s", path, name), err}
		}
		l.fn[s] = fn
	}
	return l, nil
}
