package kernels_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// apart runs kernels on a GPU where each array of the rig is an allocation of its own,
// so that compute-sanitizer sees what a kernel reads or writes behind one. The arrays'
// addresses in a launch's arguments become those on the device; the bytes of those that
// the kernel gets go there before it, and come back after it.
type apart struct {
	*cuda.Device
	arrays []placed // in the order of their addresses, none over another
	err    error
}

// placed is an array of the rig, and where it is on the device: 0 until a kernel gets it.
type placed struct {
	array  device.Array
	device uint64
	within bool // only kernels see it: it is not copied
}

func (p *placed) end() uint64 { return p.array.Addr + uint64(p.array.Buffer().Bytes) }

func (*apart) Slack() float64 { return 1 }

func (*apart) Ways() iter.Seq[string] { return slices.Values([]string{"on the GPU", "on the GPU"}) }

// Err implements machine.
func (a *apart) Err() error { return errors.Join(a.err, a.Synchronize()) }

// Place implements machine. It gives back the memory that was at the array's
// place before.
func (a *apart) Place(array device.Array, within bool) {
	added := placed{array: array, within: within}
	from, _ := slices.BinarySearchFunc(a.arrays, array.Addr, func(p placed, addr uint64) int {
		return compareEnd(p.end(), addr)
	})
	until := from
	for until < len(a.arrays) && a.arrays[until].array.Addr <= added.end() {
		a.give(a.arrays[until])
		until++
	}
	a.arrays = slices.Replace(a.arrays, from, until, added)
}

// compareEnd orders an array before an address that is behind it.
func compareEnd(end, addr uint64) int {
	if end < addr {
		return -1
	}
	return 1
}

func (a *apart) give(p placed) {
	if p.device != 0 {
		a.Free(p.device)
	}
}

// close gives everything back.
func (a *apart) close() error {
	for _, p := range a.arrays {
		a.give(p)
	}
	return a.Close()
}

// at returns the array that an address is in, or just behind; nil if it is in none.
func (a *apart) at(addr uint64) *placed {
	i, _ := slices.BinarySearchFunc(a.arrays, addr, func(p placed, addr uint64) int { return compareEnd(p.end(), addr) })
	if i == len(a.arrays) || addr < a.arrays[i].array.Addr {
		return nil
	}
	return &a.arrays[i]
}

// Enqueue implements kernels.Queue.
func (a *apart) Enqueue(l *kernels.Launch) {
	there := *l
	there.Args = slices.Clone(l.Args)
	got := make(map[*placed]bool)
	for i := 0; i+8 <= len(there.Args); i += 8 {
		word := there.Args[i : i+8]
		addr := binary.LittleEndian.Uint64(word)
		p := a.at(addr)
		if p == nil {
			continue
		}
		if p.device == 0 {
			var err error
			if p.device, err = a.Malloc(max(p.array.Buffer().Bytes, 1)); err != nil {
				a.err = errors.Join(a.err, err)
				return
			}
		}
		binary.LittleEndian.PutUint64(word, addr-p.array.Addr+p.device)
		got[p] = true
	}
	a.crossing(got, func(host []byte, there device.Buffer) error { a.Upload(there, host); return nil })
	a.Device.Enqueue(&there)
	a.crossing(got, a.Download)
}

// crossing copies arrays one way.
func (a *apart) crossing(list map[*placed]bool, way func([]byte, device.Buffer) error) {
	for p := range list {
		n := p.array.Buffer().Bytes
		if p.within || n == 0 {
			continue
		}
		host := unsafe.Slice((*byte)(pointer(p.array.Addr)), n)
		if err := way(host, device.Buffer{Addr: p.device, Bytes: n}); err != nil && a.err == nil {
			a.err = err
		}
	}
}

// TestKernelsGetArraysThatLieApart runs kernels of every kind of argument on a device
// that is not there, which refuses whatever is not an array of its own.
func TestKernelsGetArraysThatLieApart(t *testing.T) {
	compute := cudatest.Kernels(hostLibrary(t))
	var driver *cudatest.Driver
	var memory []byte
	driver = cudatest.New(cudatest.Options{Run: func(l cudatest.Launched) error {
		from := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory))))
		for i := 0; i+8 <= len(l.Args); i += 8 {
			if word := binary.LittleEndian.Uint64(l.Args[i:]); word >= from && word < from+uint64(len(memory)) {
				return fmt.Errorf("word %d of %s is an address of the host", i/8, l.Name)
			}
		}
		return compute(l)
	}})
	r := newRigOn(t, func(t testing.TB, all []byte) machine {
		t.Helper()
		memory = all
		d, err := cuda.Open(cuda.Options{Driver: driver})
		fatal.If(t, err)
		return closing(t, &apart{Device: d})
	})
	start := r.next
	for name, operation := range map[string]func(*testing.T, *rig){
		"a product": func(t *testing.T, r *rig) {
			t.Helper()
			r.multiply(t, device.MatMul{M: 33, N: 17, K: 29}, [3]device.DType{device.Float32, device.Float32, device.Float32}, "nt", 3)
		},
		"a sum by way of the scratch": func(t *testing.T, r *rig) {
			t.Helper()
			list := []device.Array{r.normals(device.Float32, 40_000), r.normals(device.BFloat16, 33), r.array(device.Float32, 0)}
			r.agree(t, 4, func(c computer) { c.Norm2(r.output(device.Float32, 1), list) })
		},
		"a part of an array": func(t *testing.T, r *rig) {
			t.Helper()
			x := r.normals(device.Float32, 100)
			r.agree(t, 4, func(c computer) { c.Unary(device.GELU, r.output(device.Float32, 50), x.Slice(50, 50)) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			r.seed(t.Name())
			r.next = start
			before := driver.Calls("cuMemAlloc_v2")
			operation(t, r)
			if n := driver.Calls("cuMemAlloc_v2") - before; n < 3 {
				t.Errorf("%d allocations, want one for each array", n)
			}
		})
	}
}
