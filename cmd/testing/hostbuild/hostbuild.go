// Package hostbuild compiles the CUDA kernels with the machine's C++ compiler and
// runs them on its processor. It is slow, and only for tests, which thus need no
// GPU. A Library is a kernels.Queue.
package hostbuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/memtop/memtop/engine/device/cuda/kernels"
	"github.com/memtop/memtop/engine/device/cuda/kernels/source"
)

// ErrNoCompiler is returned on a machine without a C++ compiler.
var ErrNoCompiler = errors.New("hostbuild: no C++ compiler: neither c++, g++ nor clang++ is in the path")

// File is the name of the file that Build makes.
const File = "kernels.so"

// Library is a loaded build of the kernels. Enqueue runs a kernel before it
// returns. It is not safe for concurrent use, and only one Library may run at a
// time.
type Library struct {
	// Falling makes the threads of blocks run in falling order. Results do not
	// depend on it, unless a kernel lacks a barrier.
	Falling bool

	handle, entry, lastError uintptr
	names                    [kernels.Count][]byte
	err                      error
}

// Build compiles the kernels in the directory dir, which must exist, and loads
// the result. extra is C++ that is compiled after them. The library stays loaded
// until the process ends.
func Build(ctx context.Context, dir, extra string) (*Library, error) {
	compiler, err := findCompiler()
	if err != nil {
		return nil, err
	}
	if err := writeSources(dir, extra); err != nil {
		return nil, fmt.Errorf("hostbuild: %w", err)
	}
	output := filepath.Join(dir, File)
	command := exec.CommandContext(ctx, compiler, "-x", "c++", "-std=c++17", "-O2", "-DMEMTOP_HOST", "-U_FORTIFY_SOURCE",
		"-ffp-contract=off", "-fno-strict-aliasing", "-fPIC", "-shared", "-w", "-o", output, "build.cpp")
	command.Dir = dir
	if text, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("hostbuild: %s: %w\n%s", compiler, err, text)
	}
	return Open(output)
}

func findCompiler() (string, error) {
	for _, name := range []string{"c++", "g++", "clang++", "clang++-19"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoCompiler
}

func writeSources(dir, extra string) error {
	files, err := fs.Glob(source.Files, "*")
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := source.Files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "build.cpp"), []byte(source.All()+extra), 0o600)
}

// Open loads a build of another process, which Build has left in its directory as
// [File].
func Open(path string) (*Library, error) {
	l := &Library{}
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

// Symbol returns the address of a symbol that extra exports.
func (l *Library) Symbol(name string) (uintptr, error) {
	return symbol(l.handle, name)
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
