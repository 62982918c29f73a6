package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// modules are the kernels used so far, and their modules. A module is loaded for
// its first kernel.
type modules struct {
	device    *Device
	loaded    [kernels.ModuleCount]uintptr // 0 if not loaded
	functions [kernels.Count]function
	noticed   bool // that the driver compiles
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

// load gives the driver a module and keeps the handle. Loading again does
// nothing. Of the forms that the module has, it is the first that the driver
// takes.
func (m *modules) load(module kernels.Module) error {
	if m.loaded[module] != 0 {
		return nil
	}
	var refused error
	for code := range module.Codes(m.device.info.Major, m.device.info.Minor) {
		handle, err := m.give(module, code)
		switch {
		case err == nil:
			m.loaded[module] = handle
			if code.Machine == "" {
				m.noticePTX(refused)
			}
			return nil
		case code.Machine == "" || !refusesCode(err):
			return err
		}
		refused = err
	}
	panic(fmt.Sprintf("cuda: the module %v has no PTX", module))
}

// give gives the driver one form of a module.
func (m *modules) give(module kernels.Module, code kernels.Code) (uintptr, error) {
	c := new(compilation)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&code.Bytes[0])
	pin.Pin(c)
	c.keys = [...]uint32{jitErrorLog, jitErrorLogBytes}
	c.values = [...]uintptr{uintptr(unsafe.Pointer(&c.log)), jitLogBytes}
	handle, err := m.device.words(cuModuleLoadDataEx, uintptr(unsafe.Pointer(&code.Bytes[0])),
		uintptr(len(c.keys)), uintptr(unsafe.Pointer(&c.keys)), uintptr(unsafe.Pointer(&c.values)))
	if err != nil {
		return 0, loadFailure(module, code, err, c.log[:])
	}
	return uintptr(handle), nil
}

// refusesCode reports whether a driver does not know machine code, which says
// nothing of PTX.
func refusesCode(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Result {
	case invalidImage, noBinaryForGPU, invalidPTX, unsupportedPTX:
		return true
	default:
		return false
	}
}

// noticePTX says, for the first module of a device, that the driver compiles the
// kernels, which takes it seconds for each module. The error is the driver's for
// machine code; nil means that there is none for the device.
func (m *modules) noticePTX(refused error) {
	if m.noticed || m.device.notice == nil {
		return
	}
	m.noticed = true
	i := m.device.info
	why := fmt.Sprintf("there is no machine code for compute capability %d.%d", i.Major, i.Minor)
	if refused != nil {
		why = refused.Error()
	}
	m.device.notice(fmt.Sprintf("cuda:%d: the driver compiles the kernels when they are first used, which takes it seconds: %s", i.Ordinal, why))
}

// loadFailure returns the error for kernels that the driver does not load. A
// driver that does not support their version of PTX is too old.
func loadFailure(module kernels.Module, code kernels.Code, err error, log []byte) error {
	var e *Error
	form := "PTX"
	if code.Machine != "" {
		form = "machine code for " + code.Machine
	}
	said, _, _ := strings.Cut(strings.TrimRight(string(log), "\x00\n"), "\n")
	switch {
	case code.Machine == "" && errors.As(err, &e) && e.Result == unsupportedPTX:
		return &UnavailableError{"the NVIDIA driver is too old for the kernels: it must support CUDA 12.0 or later", err}
	case said != "":
		return fmt.Errorf("loading the kernels %v, %s: %w: %s", module, form, err, said)
	default:
		return fmt.Errorf("loading the kernels %v, %s: %w", module, form, err)
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
