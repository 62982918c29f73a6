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
	fn   []uintptr // by Symbol
}

// Call implements Driver.
func (l *library) Call(s Symbol, args ...uintptr) Result {
	r, _, _ := purego.SyscallN(l.fn[s], args...)
	return Result(r)
}

// blasShared is the shared library of cuBLASLt.
type blasShared struct{ fn []uintptr } // by blasSymbol

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
	for _, name := range symbolNames {
		fn, err := symbol(handle, name)
		if err != nil {
			return nil, &UnavailableError{fmt.Sprintf("the driver %s is too old: it has no %s", path, name), err}
		}
		l.fn = append(l.fn, fn)
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

// Libraries implements the search of [Found].
func Libraries(names, functions []string) iter.Seq[Found] {
	return func(yield func(Found) bool) {
		for folder, err := range libraryFolders() {
			if err != nil {
				if !yield(Found{Path: folder, Err: err}) {
					return
				}
				continue
			}
			for _, name := range names {
				path := filepath.Join(folder, name)
				if f := find(path, functions); !isAbsent(f.Err, path) && !yield(f) {
					return
				}
			}
		}
	}
}

// find loads one.
func find(path string, functions []string) Found {
	f := Found{Path: path}
	handle, err := open(path)
	if err != nil {
		f.Err = err
		return f
	}
	for _, name := range functions {
		fn, err := symbol(handle, name)
		if err != nil {
			f.Err = err
			return f
		}
		f.Functions = append(f.Functions, fn)
	}
	if mapped := fileAt(f.Functions[0]); mapped != "" {
		f.Path = mapped
	}
	return f
}

// blasLibraries yields every cuBLASLt that is found.
func blasLibraries() iter.Seq[foundBLAS] {
	return func(yield func(foundBLAS) bool) {
		for f := range Libraries(blasLibraryNames, blasNames) {
			b := foundBLAS{path: f.Path, err: f.Err}
			if f.Err == nil {
				b.library = &blasShared{f.Functions}
			}
			if !yield(b) {
				return
			}
		}
	}
}
