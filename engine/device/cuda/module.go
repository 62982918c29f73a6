package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"memtop/engine/device/cuda/kernels"
)

// modules are the kernels used so far, and their modules. A module is loaded for
// its first kernel.
type modules struct {
	device    *Device
	loaded    [kernels.ModuleCount]uintptr // 0 if not loaded
	functions [kernels.Count]function
}

// function is a kernel and the shared memory that it may use. The handle is 0
// until the kernel is used.
type function struct {
	handle uintptr
	shared uint32
}

// The options of cuModuleLoadDataEx for the compiler's log.
const (
	jitErrorLog      = 5
	jitErrorLogBytes = 6
	jitLogBytes      = 4096
)

// compilation holds the driver's options for compiling, and its log of errors.
type compilation struct {
	keys   [2]uint32
	values [2]uintptr
	log    [jitLogBytes]byte
}

// load gives the driver a module's text, which it compiles for the device, and
// keeps the handle. Loading again does nothing.
func (m *modules) load(module kernels.Module) error {
	if m.loaded[module] != 0 {
		return nil
	}
	text := module.PTX()
	c := new(compilation)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&text[0])
	pin.Pin(c)
	c.keys = [...]uint32{jitErrorLog, jitErrorLogBytes}
	c.values = [...]uintptr{uintptr(unsafe.Pointer(&c.log)), jitLogBytes}
	handle, err := m.device.words(cuModuleLoadDataEx, uintptr(unsafe.Pointer(&text[0])),
		uintptr(len(c.keys)), uintptr(unsafe.Pointer(&c.keys)), uintptr(unsafe.Pointer(&c.values)))
	if err != nil {
		return loadFailure(module, err, c.log[:])
	}
	m.loaded[module] = uintptr(handle)
	return nil
}

// loadFailure returns the error for kernels that the driver does not load. A
// driver that does not support their version of PTX is too old.
func loadFailure(module kernels.Module, err error, log []byte) error {
	var e *Error
	said, _, _ := strings.Cut(strings.TrimRight(string(log), "\x00\n"), "\n")
	switch {
	case errors.As(err, &e) && e.Result == unsupportedPTX:
		return &UnavailableError{"the NVIDIA driver is too old for the kernels: it must support CUDA 12.0 or later", err}
	case said != "":
		return fmt.Errorf("loading the kernels %v: %w: %s", module, err, said)
	default:
		return fmt.Errorf("loading the kernels %v: %w", module, err)
	}
}

// The shared memory that a block may use by default, and the attribute that
// allows more.
const (
	sharedUnasked       = 48 << 10
	attributeMostShared = 8
)

// kernel returns a kernel that may use that much shared memory.
func (m *modules) kernel(k kernels.Kernel, shared uint32) (uintptr, error) {
	f := &m.functions[k]
	if f.handle == 0 {
		handle, err := m.find(k)
		if err != nil {
			return 0, err
		}
		*f = function{handle, sharedUnasked}
	}
	if shared > f.shared {
		if err := m.device.in(cuFuncSetAttribute, f.handle, attributeMostShared, uintptr(shared)); err != nil {
			return 0, fmt.Errorf("kernel %v: %w", k, err)
		}
		f.shared = shared
	}
	return f.handle, nil
}

// find looks a kernel up in its module.
func (m *modules) find(k kernels.Kernel) (uintptr, error) {
	module := kernels.ModuleOf(k)
	if err := m.load(module); err != nil {
		return 0, err
	}
	text := append([]byte(k.String()), 0)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&text[0])
	f, err := m.device.words(cuModuleGetFunction, m.loaded[module], uintptr(unsafe.Pointer(&text[0])))
	if err != nil {
		return 0, fmt.Errorf("kernel %v: %w", k, err)
	}
	return uintptr(f), nil
}

func (m *modules) close() {
	for _, module := range m.loaded {
		if module != 0 {
			_ = m.device.in(cuModuleUnload, module) // the context goes next
		}
	}
	*m = modules{device: m.device}
}
