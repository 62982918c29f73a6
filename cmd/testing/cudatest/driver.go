// Package cudatest imitates a GPU driver for tests. It implements the entry
// points that package cuda calls, inside the test's process and in host memory.
//
// It keeps the rules of the driver that a caller could break by mistake. Work
// queued on a stream runs only when a caller waits for it. So if a caller reads a
// result or reuses a buffer too early, it gets a wrong value. Memory is counted
// and limited; a range that is not mapped cannot be used. Any call can be made to
// fail.
//
// It is not fast. It panics on arguments that a caller must not pass.
package cudatest

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/ptx"
	"github.com/memtop/memtop/engine/device/cuda"
)

// Launched is a kernel as the driver received it.
type Launched struct {
	Name        string
	Grid, Block [3]uint32
	Shared      uint32
	Args        []byte // one structure, as the kernel declares it
}

// Options describe the device. The zero value has 1 GiB of memory and no
// kernels.
type Options struct {
	Devices  int   // how many there are; 0 means 1
	Capacity int64 // bytes of each
	Major    int   // of the compute capability; 0 means 8
	Minor    int
	// Run computes a kernel, in the order of its stream. If it is nil, a launch
	// fails.
	Run func(Launched) error
	// Execute, if it is not nil, makes the driver execute the PTX that it is given, in
	// place of Run, and refuse machine code. It is called with what a kernel does that it
	// must not, with the driver locked.
	Execute func(error)
	// NoMapping makes a device that cannot map memory to reserved addresses.
	NoMapping bool
	// NoImages and NoPTX are the results of loading machine code and PTX; 0 loads
	// them.
	NoImages, NoPTX cuda.Result
}

// Driver is an imitated CUDA driver. Safe for concurrent use.
type Driver struct {
	options Options
	mu      sync.Mutex
	started bool
	context int // how many times the primary context was retained
	used    int64
	memory  ranges            // from cuMemAlloc
	host    map[uint64][]byte // from cuMemHostAlloc
	mapping mapping
	streams map[uint64]*stream
	events  map[uint64]*event
	modules map[uint64]module
	kernels map[uint64]kernel
	machine ptx.Machine
	next    uint64 // the next handle
	fails   map[string]failing
	calls   map[string]int
	texts   map[string][]byte // to which error names point
	loads   []string          // what was loaded, as Loads returns it
	dead    cuda.Result       // the failure that ended the context
}

// failing is how many calls succeed before one fails, and its result.
type failing struct {
	after  int
	result cuda.Result
}

// New returns a driver.
func New(o Options) *Driver {
	if o.Devices == 0 {
		o.Devices = 1
	}
	if o.Capacity == 0 {
		o.Capacity = 1 << 30
	}
	if o.Major == 0 {
		o.Major = 8
	}
	if o.Execute != nil {
		o.NoImages = noBinary
	}
	return &Driver{
		options: o, memory: make(ranges), host: make(map[uint64][]byte),
		mapping: newMapping(), streams: make(map[uint64]*stream), events: make(map[uint64]*event),
		modules: make(map[uint64]module), kernels: make(map[uint64]kernel), next: 1 << 20,
		fails: make(map[string]failing), calls: make(map[string]int), texts: make(map[string][]byte),
	}
}

// Fail makes a call of an entry point fail, after a number of calls that succeed.
// If the result is one that ends the context, the context ends.
func (d *Driver) Fail(entry string, after int, r cuda.Result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails[entry] = failing{after, r}
}

// Calls returns how often an entry point was called.
func (d *Driver) Calls(entry string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[entry]
}

// Loads returns the modules loaded with cuModuleLoadDataEx, in order: for machine
// code its architecture, such as "sm_90", else "PTX".
func (d *Driver) Loads() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.loads)
}

// Used returns how many bytes of cuMemAlloc and cuMemCreate are in use.
func (d *Driver) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used
}

// Left returns everything that was not released, one line each: memory, streams,
// events, modules, contexts.
func (d *Driver) Left() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var left []string
	for name, n := range map[string]int{
		"device memory": len(d.memory), "host memory": len(d.host), "streams": len(d.streams), "events": len(d.events),
		"modules": len(d.modules), "contexts": d.context, "reserved ranges": len(d.mapping.reserved), "mapped pieces": len(d.mapping.pieces),
	} {
		if n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, name))
		}
	}
	return left
}

// Call implements cuda.Driver.
func (d *Driver) Call(s cuda.Symbol, args ...uintptr) cuda.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := s.String()
	d.calls[name]++
	if d.dead != 0 && !d.always(name) {
		return d.dead
	}
	if f, ok := d.fails[name]; ok {
		if f.after == 0 {
			delete(d.fails, name)
			if f.result.EndsContext() {
				d.dead = f.result
			}
			return f.result
		}
		d.fails[name] = failing{f.after - 1, f.result}
	}
	answer, ok := entries[name]
	if !ok {
		panic("cudatest: no entry point " + name)
	}
	if !d.started && name != "cuInit" && !d.always(name) {
		return notInitialized
	}
	return answer(d, args)
}

// always reports whether a call works in every state of the driver.
func (*Driver) always(name string) bool {
	return name == "cuGetErrorName" || name == "cuGetErrorString" || name == "cuDriverGetVersion"
}

// handle returns a new handle, which is not an address.
func (d *Driver) handle() uint64 {
	d.next += 16
	return d.next
}

// at returns an address that a call received as a pointer.
func at(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

func put64(p uintptr, v uint64) { *(*uint64)(at(p)) = v }

func put32(p uintptr, v uint32) { *(*uint32)(at(p)) = v }

func get32(p uintptr, i int) uint32 { return *(*uint32)(unsafe.Add(at(p), 4*i)) }

func bytesAt(p uintptr, n int) []byte { return unsafe.Slice((*byte)(at(p)), n) }

func textAt(p uintptr) string {
	for n := 0; ; n++ {
		if *(*byte)(unsafe.Add(at(p), n)) == 0 {
			return string(bytesAt(p, n))
		}
	}
}
