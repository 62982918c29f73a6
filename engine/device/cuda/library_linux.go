package cuda

import (
	"fmt"
	"iter"
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
	for s, name := range symbolNames {
		fn, err := symbol(handle, name)
		if err != nil {
			return nil, &UnavailableError{fmt.Sprintf("the driver %s is too old: it has no %s", path, name), err}
		}
		l.fn[s] = fn
	}
	return l, nil
}

// load loads the first library of these names that is found and loads.
func load(names []string) (handle uintptr, path string, err error) {
	var first error
	for folder := range folders() {
		for _, name := range names {
			path := filepath.Join(folder, name)
			handle, err := open(path)
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

// open loads one library, whose symbols are not for others: two versions of a
// library have the same. The loader keeps the reason of a failure for the thread
// that met it: the goroutine stays there until it has read it.
func open(path string) (handle uintptr, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// symbol returns the address of a function.
func symbol(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread() // as open does
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, name)
}

// blasLibraries yields every cuBLASLt that is found, the preferred one first, and
// looks for the next only when it is asked for.
func blasLibraries() iter.Seq[foundBLAS] {
	return func(yield func(foundBLAS) bool) {
		for folder, err := range blasFolders() {
			if err != nil {
				if !yield(foundBLAS{path: folder, err: err}) {
					return
				}
				continue
			}
			for _, name := range blasLibraryNames {
				path := filepath.Join(folder, name)
				if f := openBLAS(path); !isAbsent(f.err, path) && !yield(f) {
					return
				}
			}
		}
	}
}

// openBLAS loads one.
func openBLAS(path string) foundBLAS {
	f := foundBLAS{path: path}
	handle, err := open(path)
	if err != nil {
		f.err = err
		return f
	}
	l := new(blasShared)
	for s, name := range blasNames {
		if l.fn[s], f.err = symbol(handle, name); f.err != nil {
			return f
		}
	}
	f.library = l
	if mapped := fileAt(l.fn[ltCreate]); mapped != "" {
		f.path = mapped
	}
	return f
}
