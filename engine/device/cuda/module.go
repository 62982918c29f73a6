package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// modules are the kernels that were loaded, by the text they came from.
type modules struct {
	device    *Device
	loaded    []uintptr
	functions map[string]function
}

// function is a kernel, and how much shared memory it was allowed so far beyond
// what all may use.
type function struct {
	handle uintptr
	shared uint32
}

// The options of cuModuleLoadDataEx that give room for the compiler's words.
const (
	jitErrorLog      = 5
	jitErrorLogBytes = 6
	jitLogBytes      = 4096
)

// compilation is what the driver is told of how to compile, and its room for
// what it says of errors.
type compilation struct {
	keys   [2]uint32
	values [2]uintptr
	log    [jitLogBytes]byte
}

// load hands the driver a text in PTX, which it compiles for the device, and
// keeps what was made of it.
func (m *modules) load(ptx []byte) error {
	text := append(bytes.Clone(ptx), 0)
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
		return loadFailure(err, c.log[:])
	}
	m.loaded = append(m.loaded, uintptr(handle))
	return nil
}

// loadFailure says why the driver does not take the kernels. A driver that does
// not know their version of PTX is too old.
func loadFailure(err error, log []byte) error {
	var e *Error
	said, _, _ := strings.Cut(strings.TrimRight(string(log), "\x00\n"), "\n")
	switch {
	case errors.As(err, &e) && e.Result == unsupportedPTX:
		return &UnavailableError{"the NVIDIA driver is too old for the kernels: it must be one of CUDA 12.0 or later", err}
	case said != "":
		return fmt.Errorf("loading the kernels: %w: %s", err, said)
	default:
		return fmt.Errorf("loading the kernels: %w", err)
	}
}

// The shared memory that a block may use without asking, and the attribute by
// which it asks for more.
const (
	sharedUnasked       = 48 << 10
	attributeMostShared = 8
)

// kernel returns a kernel by name, with leave to use so much shared memory.
func (m *modules) kernel(name string, shared uint32) (uintptr, error) {
	f, ok := m.functions[name]
	if !ok {
		handle, err := m.find(name)
		if err != nil {
			return 0, err
		}
		f = function{handle, sharedUnasked}
		m.functions[name] = f
	}
	if shared > f.shared {
		if err := m.device.in(cuFuncSetAttribute, f.handle, attributeMostShared, uintptr(shared)); err != nil {
			return 0, fmt.Errorf("kernel %s: %w", name, err)
		}
		m.functions[name] = function{f.handle, shared}
	}
	return f.handle, nil
}

// find looks a kernel up in what was loaded.
func (m *modules) find(name string) (uintptr, error) {
	text := append([]byte(name), 0)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&text[0])
	for _, module := range m.loaded {
		f, err := m.device.words(cuModuleGetFunction, module, uintptr(unsafe.Pointer(&text[0])))
		var e *Error
		if errors.As(err, &e) && e.Result == notFound {
			continue
		}
		return uintptr(f), err
	}
	return 0, fmt.Errorf("no kernel %q is loaded", name)
}

func (m *modules) close() {
	for _, module := range m.loaded {
		_ = m.device.in(cuModuleUnload, module) // the context goes next
	}
	m.loaded = nil
	clear(m.functions)
}
