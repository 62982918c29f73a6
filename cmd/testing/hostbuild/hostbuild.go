// Package hostbuild compiles the CUDA kernels with the machine's C++ compiler and
// runs them on its processor. It is slow, and only for tests, which thus need no
// GPU. A Library is a kernels.Queue.
package hostbuild

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/memtop/memtop/engine/device/cuda/kernels"
	"github.com/memtop/memtop/engine/device/cuda/kernels/source"
)

// ErrNoCompiler is returned on a machine without a C++ compiler.
var ErrNoCompiler = errors.New("hostbuild: no C++ compiler: neither c++, g++ nor clang++ is in the path")

// Library is a loaded build of the kernels. Enqueue runs a kernel before it
// returns. It is not safe for concurrent use, and only one Library may run at a
// time.
type Library struct {
	// Falling makes the threads of blocks run in falling order. Results do not
	// depend on it, unless a kernel lacks a barrier.
	Falling bool

	// Path is the file, which other processes may Open until the next week.
	Path string

	handle, entry, lastError uintptr
	names                    [kernels.Count][]byte
	err                      error
}

// Build compiles the kernels, unless a process has done so, and loads the result. It
// stays loaded until the process ends.
func Build(ctx context.Context) (*Library, error) {
	path, err := compiled(ctx, "-O2", all())
	if err != nil {
		return nil, err
	}
	return Open(path)
}

// all returns C++ that includes the files of all modules.
func all() (text string) {
	for _, m := range source.Modules {
		text += m.Text()
	}
	return text
}

// Table returns the address of a symbol of C++ that is compiled behind the kernels, to
// see how it lies in memory.
func Table(ctx context.Context, text, symbolName string) (uintptr, error) {
	path, err := compiled(ctx, "-O0", all()+text)
	if err != nil {
		return 0, err
	}
	handle, err := load(path)
	if err != nil {
		return 0, fmt.Errorf("hostbuild: %w", err)
	}
	return symbol(handle, symbolName)
}

// Open loads a build of another process, of which it was told the Path.
func Open(path string) (*Library, error) {
	l := &Library{Path: path}
	var err error
	if l.handle, err = load(path); err != nil {
		return nil, fmt.Errorf("hostbuild: %w", err)
	}
	if l.entry, err = symbol(l.handle, "memtop_launch"); err != nil {
		return nil, fmt.Errorf("hostbuild: %w", err)
	}
	if l.lastError, err = symbol(l.handle, "memtop_error"); err != nil {
		return nil, fmt.Errorf("hostbuild: %w", err)
	}
	for k := range l.names {
		l.names[k] = append([]byte(kernels.Kernel(k).String()), 0)
	}
	return l, nil
}

// Enqueue implements kernels.Queue.
func (l *Library) Enqueue(k *kernels.Launch) {
	if l.err != nil {
		return
	}
	falling := uintptr(0)
	if l.Falling {
		falling = 1
	}
	failed, _, _ := purego.SyscallN(l.entry, uintptr(unsafe.Pointer(&l.names[k.Kernel][0])), uintptr(unsafe.Pointer(&k.Grid)),
		uintptr(k.Threads), uintptr(k.Shared), uintptr(unsafe.Pointer(&k.Args[0])), uintptr(len(k.Args)), falling)
	if int32(failed) != 0 {
		text, _, _ := purego.SyscallN(l.lastError)
		l.err = fmt.Errorf("hostbuild: kernel %v: grid %v, %d threads: %s", k.Kernel, k.Grid, k.Threads, textAt(text))
	}
}

// Err returns the first failure of a launch. Later launches do nothing.
func (l *Library) Err() error { return l.err }

// textAt returns the C string at an address.
func textAt(address uintptr) string {
	p := *(*unsafe.Pointer)(unsafe.Pointer(&address))
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}
