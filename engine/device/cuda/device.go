package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Info describes a device.
type Info struct {
	Ordinal int
	Name    string // the driver's, such as "NVIDIA H100 80GB HBM3"
	UUID    [16]byte
	Memory  int64 // bytes in all
	// Major and Minor are the compute capability.
	Major, Minor int
	// VirtualMemory is true if memory can be mapped to reserved addresses.
	VirtualMemory bool
	Version       int // of the driver's interface, 12040 for 12.4
}

// The attributes of a device that describe reads.
const (
	attributeMajor         = 75
	attributeMinor         = 76
	attributeVirtualMemory = 102
)

// Options choose the device to open. The zero value is the first device of the
// installed driver.
type Options struct {
	Ordinal int
	// Driver serves the calls; nil is the system's library.
	Driver Driver
	// OwnProducts multiplies with our kernels even where cuBLASLt is found.
	OwnProducts bool
	// Notice, if it is not nil, is called with a line for the user who runs the
	// program when the device works, but otherwise than it should. It is called by
	// the goroutine that calls the device, and must not call it.
	Notice func(line string)
}

// Device is an open GPU: its memory and its queues. Release everything on it
// before Close.
type Device struct {
	calls
	info    Info
	handle  uintptr // the driver's number of the device
	context uintptr
	*Memory
	*Backend
	blas *blas // nil when there is no library
	// sought is true if a library was looked for; refused has those that were found
	// and did not start.
	sought  bool
	refused []error
	host    *host // nil until OpenHost
	// notice is Options.Notice.
	notice func(line string)
	// failed is the first failure after which the device is not used any more; nil
	// while there is none.
	failed atomic.Pointer[error]
}

// connect returns a driver that is ready for use.
func connect(d Driver) (calls, error) {
	var err error
	if d == nil {
		if d, err = openLibrary(); err != nil {
			return calls{}, err
		}
	}
	c := calls{d}
	if err := c.do(cuInit, 0); err != nil {
		return calls{}, &UnavailableError{"the NVIDIA driver does not start", err}
	}
	return c, nil
}

// describe returns the Info of a device and the driver's number of it.
func (c calls) describe(ordinal int) (Info, uintptr, error) {
	info := Info{Ordinal: ordinal}
	handle, err := c.word(cuDeviceGet, uintptr(ordinal))
	if err != nil {
		return info, 0, &UnavailableError{fmt.Sprintf("there is no device cuda:%d", ordinal), err}
	}
	h := uintptr(int32(handle))
	var attributes [3]int
	for i, a := range []uintptr{attributeMajor, attributeMinor, attributeVirtualMemory} {
		v, err := c.word(cuDeviceGetAttribute, a, h)
		if err != nil {
			return info, 0, err
		}
		attributes[i] = int(int32(v))
	}
	info.Major, info.Minor = attributes[0], attributes[1]
	info.VirtualMemory = attributes[2] != 0
	total, err := c.word(cuDeviceTotalMem, h)
	if err != nil {
		return info, 0, err
	}
	version, err := c.word(cuDriverGetVersion)
	if err != nil {
		return info, 0, err
	}
	info.Memory, info.Version = int64(total), int(int32(version))
	return info, h, c.names(&info, h)
}

// names reads a device's name and UUID.
func (c calls) names(info *Info, handle uintptr) error {
	f := newFrame()
	defer f.release()
	at := f.at(0) + unsafe.Offsetof(f.bytes)
	if err := c.do(cuDeviceGetName, at, uintptr(len(f.bytes)), handle); err != nil {
		return err
	}
	info.Name = f.text()
	f.bytes = [256]byte{}
	err := c.do(cuDeviceGetUUID, at, handle)
	copy(info.UUID[:], f.bytes[:])
	runtime.KeepAlive(f)
	return err
}

// The oldest GPUs that the kernels run on: Ampere.
const leastMajor = 8

// Open opens a device. An [UnavailableError] says that there is none to open.
func Open(o Options) (*Device, error) {
	c, err := connect(o.Driver)
	if err != nil {
		return nil, err
	}
	info, handle, err := c.describe(o.Ordinal)
	if err != nil {
		return nil, err
	}
	if info.Major < leastMajor {
		return nil, &UnavailableError{Reason: fmt.Sprintf("cuda:%d, %s, has compute capability %d.%d, and the kernels need %d.0",
			o.Ordinal, info.Name, info.Major, info.Minor, leastMajor)}
	}
	d := &Device{calls: c, info: info, handle: handle, notice: o.Notice}
	if err := d.start(); err != nil {
		return nil, err
	}
	if o.Driver == nil && !o.OwnProducts {
		d.findBLAS(blasLibraries())
	}
	return d, nil
}

// start makes the parts of an open device. After a failure it releases the parts
// made before.
func (d *Device) start() error {
	context, err := d.word(cuDevicePrimaryCtxRetain, d.handle)
	if err != nil {
		return &UnavailableError{fmt.Sprintf("cuda:%d does not start", d.info.Ordinal), err}
	}
	d.context = uintptr(context)
	d.Memory = &Memory{device: d}
	q, err := newQueue(d)
	d.Backend = &Backend{queue: q}
	if err == nil {
		err = d.Backend.start()
	}
	if err != nil {
		_ = d.Close() // the first failure is returned
	}
	return err
}

// Info describes the device.
func (d *Device) Info() Info { return d.info }

// Name returns the device's name in the engine, "cuda:0" for the first.
func (d *Device) Name() string { return fmt.Sprintf("cuda:%d", d.info.Ordinal) }

// Close waits for the device and gives everything back except memory that was
// not freed, which ends with the process.
func (d *Device) Close() error {
	err := errors.Join(d.closeQueue(), d.host.close(), d.stopBLAS(d.blas))
	d.closeEvents()
	d.release()
	return err
}

func (d *Device) release() {
	_ = d.do(cuDevicePrimaryCtxRelease, d.handle) // a failure cannot be repaired
}

// enter binds the device's context to the calling thread; leave ends that.
func (d *Device) enter() error {
	runtime.LockOSThread()
	if failed := d.Failed(); failed != nil {
		return failed
	}
	return d.do(cuCtxSetCurrent, d.context)
}

func (d *Device) leave() { runtime.UnlockOSThread() }

// in calls a function with the device's context, and keeps a failure that ended
// it.
func (d *Device) in(s Symbol, args ...uintptr) error {
	defer d.leave()
	if err := d.enter(); err != nil {
		return err
	}
	return d.note(d.do(s, args...))
}

// note keeps the first failure that ended the context. A call that succeeded
// after that has not had its effect.
func (d *Device) note(err error) error {
	if e, ok := err.(*Error); ok && e.Result.EndsContext() { //nolint:errorlint // do returns it bare
		d.Fail(e)
	}
	if err == nil {
		return d.Failed()
	}
	return err
}

// words calls a function that writes one word to its first argument, with the
// device's context.
func (d *Device) words(s Symbol, args ...uintptr) (uint64, error) {
	defer d.leave()
	if err := d.enter(); err != nil {
		return 0, err
	}
	w, err := d.word(s, args...)
	return w, d.note(err)
}

// Failed returns the failure that ended the use of the device, nil while it
// works. Safe for concurrent use.
func (d *Device) Failed() error {
	if err := d.failed.Load(); err != nil {
		return *err
	}
	return nil
}
