package kernels_test

import (
	"bytes"
	"context"
	"errors"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/hostbuild"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// computer is the operations that both the CPU backend and the kernels have.
type computer interface {
	device.Elementwise
	device.MatMuls
	device.Attentions
	device.Convolutions
	device.Shapes
	device.Reductions
	device.Normalizations
	device.Losses
	device.Lookups
	device.Random
	device.Optimizers
	device.Scaling
}

// built returns the host build of the kernels, which all tests share.
var built = sync.OnceValues(func() (*hostbuild.Library, error) { return hostbuild.Build(context.Background()) })

func hostLibrary(t testing.TB) *hostbuild.Library {
	t.Helper()
	library, err := built()
	if errors.Is(err, hostbuild.ErrNoCompiler) {
		t.Skip(err)
	}
	fatal.If(t, err)
	return library
}

// machine runs kernels on memory of this process: with MEMTOP_GPU=1 the first GPU does,
// on that memory itself, with MEMTOP_GPU=ptx it is the PTX that is shipped, without a GPU;
// else the host build, and the PTX in some cases.
type machine interface {
	kernels.Queue
	// Place says where an array is, and whether only kernels see it.
	Place(a device.Array, within bool)
	// Failed returns the failure after which nothing runs any more, nil while it works.
	Failed() error
	// Slack is how many times farther off the results of the present way may be.
	Slack() float64
	// Ways goes through the ways to run the same. All give the same bits.
	Ways() iter.Seq[string]
	// Err waits for all launches and returns the first failure.
	Err() error
}

// onHost runs the host build, with the threads of blocks in rising order, and if the PTX
// has seldom run what the case runs, in falling order and then the PTX.
type onHost struct {
	*hostbuild.Library
	*compiled
	executes bool // the PTX
	launched []kernels.Kernel
}

func (h *onHost) Enqueue(l *kernels.Launch) {
	h.launched = append(h.launched, l.Kernel)
	if h.executes {
		h.compiled.Enqueue(l)
		return
	}
	h.Library.Enqueue(l)
}

func (h *onHost) Ways() iter.Seq[string] {
	return func(yield func(string) bool) {
		h.launched, h.executes, h.Library.Falling = nil, false, false
		if !yield("on the host") || !seldom(h.launched) {
			return
		}
		h.Library.Falling = true
		if !yield("on the host") {
			return
		}
		h.executes = true
		yield("as PTX")
	}
}

func (h *onHost) Err() error { return errors.Join(h.Library.Err(), h.compiled.Err()) }

type onGPU struct {
	*cuda.Device
	release func() error // of the memory that it shares
}

func (onGPU) Ways() iter.Seq[string] { return slices.Values([]string{"on the GPU", "on the GPU"}) }

func (onGPU) Slack() float64 { return 1 }

func (onGPU) Place(device.Array, bool) {}

func (g onGPU) Err() error { return g.Synchronize() }

func (g onGPU) close() error { return errors.Join(g.release(), g.Close()) }

// newMachine returns the machine that the environment chooses. A GPU's needs no
// cuBLASLt: kernels are launched, and no product of the device is used.
func newMachine(t testing.TB, memory []byte) machine {
	t.Helper()
	where := os.Getenv("MEMTOP_GPU")
	if where == "" {
		return &onHost{Library: hostLibrary(t), compiled: &compiled{}}
	}
	if where == "ptx" {
		return &compiled{}
	}
	d, err := cuda.Open(cuda.Options{OwnProducts: true})
	fatal.If(t, err)
	release, err := d.Share(memory)
	if err != nil {
		t.Fatal(errors.Join(err, d.Close()))
	}
	return closing(t, onGPU{d, release})
}

// closing closes a machine when the test ends.
func closing[M interface{ close() error }](t testing.TB, m M) M {
	t.Helper()
	t.Cleanup(func() {
		fatal.If(t, m.close())
	})
	return m
}

// rig is ordinary memory of this process that both the CPU backend and the
// kernels compute on.
type rig struct {
	t       testing.TB
	cpu     *cpu.Device
	kernels *kernels.Compute
	machine machine
	rand    *rand.Rand
	next    uint64
	start   uint64 // of what cases have
	failure device.Array
	chance  uint64
	askew   bool // arrays begin at their second element, so that none is aligned
	// The outputs of the operation under test, in the order of its requests.
	outputs []device.Array
}

const rigBytes = 256 << 20

// seed makes the numbers of a case independent of the cases that ran before it,
// whose order a map changes in every run, and gives it their memory.
func (r *rig) seed(name string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it cannot fail
	r.rand = rand.New(rand.NewPCG(7, h.Sum64()))
	r.askew, r.chance, r.next = false, h.Sum64(), r.start
}

// seedAskew is seed for operations on arrays that begin anywhere: some of the cases'
// arrays do.
func (r *rig) seedAskew(name string) {
	r.seed(name)
	r.askew = r.chance%4 == 0
}

func newRig(t testing.TB) *rig {
	t.Helper()
	d, err := cpu.Open(cpu.Options{Capacity: rigBytes, Threads: 1})
	fatal.If(t, err)
	t.Cleanup(func() { _ = d.Close() })
	clear(runs[:])
	r := &rig{t: t, cpu: d, rand: rand.New(rand.NewPCG(7, 11))}
	if r.next, err = d.Malloc(rigBytes); err != nil {
		t.Fatal(err)
	}
	r.machine = newMachine(t, unsafe.Slice((*byte)(pointer(r.next)), rigBytes))
	scratch := r.array(device.UInt8, kernels.ScratchBytes)
	r.machine.Place(scratch, true)
	r.failure = r.array(device.UInt8, kernels.FailureBytes)
	d.Fill(r.failure, 0)
	r.kernels, r.start = kernels.NewCompute(r.machine, scratch.Buffer(), r.failure.Addr), r.next
	return r
}

// guardBytes lie behind every array and must stay as they are.
const guardBytes, guard = 64, 0xa5

// array returns n fresh elements, full of NaN or of values that must not be read.
func (r *rig) array(d device.DType, n int) device.Array {
	r.t.Helper()
	a := device.Array{Addr: r.next, Len: n, DType: d}
	bytes := uint64(n)*uint64(d.Size()) + guardBytes
	if r.askew {
		a.Addr += uint64(d.Size())
		bytes += uint64(d.Size())
	}
	r.next += (bytes + 511) &^ 511
	r.machine.Place(a, false)
	poison := math.NaN()
	if !d.IsFloat() {
		poison = 77
	}
	if n > 0 {
		r.cpu.Fill(a, poison)
	}
	r.cpu.Fill(r.guardOf(a), guard)
	return a
}

func (r *rig) guardOf(a device.Array) device.Array {
	return device.Array{Addr: a.Addr + uint64(int64(a.Len)*a.DType.Size()), Len: guardBytes, DType: device.UInt8}
}

func (r *rig) buffer(bytes int64) device.Buffer {
	return r.array(device.UInt8, int(bytes)).Buffer()
}

// put returns an array with values.
func (r *rig) put(d device.DType, values ...float64) device.Array {
	r.t.Helper()
	wide := r.array(device.Float64, len(values))
	copy(unsafe.Slice((*float64)(pointer(wide.Addr)), len(values)), values)
	a := r.array(d, len(values))
	r.cpu.Cast(a, wide)
	return a
}

// normals returns n random numbers.
func (r *rig) normals(d device.DType, n int) device.Array {
	r.t.Helper()
	values := make([]float64, n)
	for i := range values {
		values[i] = r.rand.NormFloat64()
	}
	return r.put(d, values...)
}

func (r *rig) get(a device.Array) []float64 {
	r.t.Helper()
	next := r.next
	wide := r.array(device.Float64, a.Len)
	r.cpu.Cast(wide, a)
	r.next = next
	return append([]float64(nil), unsafe.Slice((*float64)(pointer(wide.Addr)), a.Len)...)
}

func (r *rig) bytes(a device.Array) []byte {
	return unsafe.Slice((*byte)(pointer(a.Addr)), int64(a.Len)*a.DType.Size())
}

func pointer(address uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// output returns an array for the operation under test to write.
func (r *rig) output(d device.DType, n int) device.Array {
	a := r.array(d, n)
	r.outputs = append(r.outputs, a)
	return a
}

// changed returns a copy of a for the operation under test to change.
func (r *rig) changed(a device.Array) device.Array {
	b := r.output(a.DType, a.Len)
	r.cpu.Cast(b, a)
	return b
}

// agree has the CPU backend and the kernels, in all ways of the machine, do the same, and
// compares their outputs: the kernels' with each other by bits, unless one is of another
// compiler, and with the CPU's by the relative L2 error, for which slack times the type's
// own error is allowed.
func (r *rig) agree(t *testing.T, slack float64, operation func(c computer)) {
	t.Helper()
	if err := r.machine.Failed(); err != nil {
		t.Skip("an earlier case ended the use of the device:", err)
	}
	want := r.record(func() { operation(r.cpu) })
	fatal.If(t, r.cpu.Synchronize())
	if len(want) == 0 {
		t.Fatal("the operation wrote nothing")
	}
	r.whole(t, want)
	of := make(map[string][]device.Array)
	for way := range r.machine.Ways() {
		got := r.record(func() { operation(r.kernels) })
		if err := r.machine.Err(); err != nil {
			t.Fatal(way, err)
		}
		r.whole(t, got)
		before, again := of[way]
		for i := range want {
			r.near(t, i, got[i], want[i], slack*r.machine.Slack())
			if again && !bytes.Equal(r.bytes(got[i]), r.bytes(before[i])) {
				t.Errorf("%s, output %d depends on the order in which threads run", way, i)
			}
		}
		of[way] = got
	}
}

// whole checks that nothing was written behind arrays.
func (r *rig) whole(t *testing.T, arrays []device.Array) {
	t.Helper()
	for i, a := range arrays {
		for _, b := range r.bytes(r.guardOf(a)) {
			if b != guard {
				t.Fatalf("output %d: something was written behind its end", i)
			}
		}
	}
}

func (r *rig) record(do func()) []device.Array {
	r.outputs = nil
	do()
	return r.outputs
}

// precision is the relative error of storing a result, and for the types of
// arithmetic that of functions and sums.
func precision(d device.DType) float64 {
	return map[device.DType]float64{
		device.Float32: 1e-6, device.Float64: 1e-13, device.BFloat16: 0x1p-8, device.Float16: 0x1p-11,
	}[d]
}

func (r *rig) near(t *testing.T, i int, got, want device.Array, slack float64) {
	t.Helper()
	g, w := r.get(got), r.get(want)
	var off, size float64
	for k := range w {
		if g[k] == w[k] || math.IsNaN(g[k]) && math.IsNaN(w[k]) {
			size += finite(w[k]) * finite(w[k])
			continue
		}
		d := g[k] - w[k]
		if math.IsNaN(d) || math.IsInf(d, 0) {
			t.Fatalf("output %d, element %d of %d: got %v, want %v", i, k, len(w), g[k], w[k])
		}
		off, size = off+d*d, size+w[k]*w[k]
	}
	allowed := slack * precision(got.DType)
	if off > allowed*allowed*size {
		t.Errorf("output %d, %d elements of %v: relative error %.3g, allowed %.3g; first %v, want %v", i, len(w), got.DType,
			math.Sqrt(off/size), allowed, first(g, 6), first(w, 6))
	}
}

func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

func first(x []float64, n int) []float64 { return x[:min(n, len(x))] }

var floats = []device.DType{device.Float32, device.BFloat16, device.Float16}

// mixes are the types of operands that operations get: all equal, and those of
// mixed precision.
var mixes = map[string][3]device.DType{
	"float32":                  {device.Float32, device.Float32, device.Float32},
	"bfloat16":                 {device.BFloat16, device.BFloat16, device.BFloat16},
	"float16":                  {device.Float16, device.Float16, device.Float16},
	"bfloat16 into float32":    {device.Float32, device.BFloat16, device.BFloat16},
	"float32 into bfloat16":    {device.BFloat16, device.Float32, device.Float32},
	"float32 beside bfloat16s": {device.BFloat16, device.BFloat16, device.Float32},
}

// thorough is whether cases are tried that only reach what others do not in the PTX.
var thorough = os.Getenv("MEMTOP_GPU") == "ptx"

// every is whether cases are tried that repeat on the host what others show: on a GPU, and
// as PTX.
var every = os.Getenv("MEMTOP_GPU") != ""

// halves returns a type of 16 bits, or both on a GPU and as PTX: their kernels are the same
// but for the numbers, so on the host a case has the one that its number says.
func halves(number int) []device.DType {
	both := []device.DType{device.BFloat16, device.Float16}
	if every {
		return both
	}
	return both[number%2:][:1]
}

var lengths = []int{1, 3, 4, 33, 1023, 4099}
