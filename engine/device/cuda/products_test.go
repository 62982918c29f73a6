package cuda_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/hostbuild"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/device/cuda"
)

// sized is a product of a layer, or a gradient of one.
type sized struct {
	m, n, k        int
	transA, transB bool
	gelu           bool
}

// gpt2 are those of a step of GPT-2 124M, 16 samples of 1,024 tokens. The head's result is
// the largest array that there is: 1.6 GB in 16 bits, 3.3 GB in 32.
var gpt2 = map[string]sized{
	"x·wᵀ":                  {m: 16384, n: 3072, k: 768, transB: true},
	"x·wᵀ, gelu at the end": {m: 16384, n: 3072, k: 768, transB: true, gelu: true},
	"dy·w":                  {m: 16384, n: 768, k: 3072},
	"dyᵀ·x":                 {m: 3072, n: 768, k: 16384, transA: true},
	"head x·wᵀ":             {m: 16384, n: 50304, k: 768, transB: true},
}

// TestAGPUMultipliesAsTheProcessor tries products at their real sizes by the library and by
// our kernels, on a GPU: rows of each are computed again on the processor, two runs must give
// the same bits, and the rate is told. The kernels' own tests are of small arrays, and
// know no library.
func TestAGPUMultipliesAsTheProcessor(t *testing.T) {
	gpu(t)
	const own = "own, by mma.sync" // as the device says it
	for _, name := range []string{"cuBLASLt", own} {
		t.Run(name, func(t *testing.T) {
			d, err := cuda.Open(cuda.Options{OwnProducts: name == own})
			fatal.If(t, err)
			defer d.Close() //nolint:errcheck // what matters was told
			multiplyAll(t, d, name, gpt2, func(m device.MatMulPlan) { d.MatMul(m) })
		})
	}
}

// TestProductsOfTheHostBuildAgree does so at small sizes with the kernels as the
// processor runs them, and with one that is a little wrong.
func TestProductsOfTheHostBuildAgree(t *testing.T) {
	library, err := hostbuild.Build(t.Context())
	if errors.Is(err, hostbuild.ErrNoCompiler) {
		t.Skip(err)
	}
	fatal.If(t, err)
	small := map[string]sized{
		"x·wᵀ": {m: 40, n: 24, k: 16, transB: true}, "gelu": {m: 40, n: 24, k: 16, transB: true, gelu: true}, "dyᵀ·x": {m: 24, n: 16, k: 40, transA: true},
	}
	d, _ := openWith(t, cuda.Options{OwnProducts: true}, cudatest.Options{Run: cudatest.Kernels(library)})
	multiplyAll(t, d, "own", small, func(m device.MatMulPlan) { d.MatMul(m) })
	p := small["x·wᵀ"]
	if off, _ := p.try(t, d, device.Float32, func(m device.MatMulPlan) { d.MatMul(m); d.Scale(m.C, m.C, 1.01) }); off < 1 {
		t.Errorf("a result that is a hundredth too large is %.2f of what is allowed off", off)
	}
}

func multiplyAll(t *testing.T, d *cuda.Device, says string, products map[string]sized, multiply func(device.MatMulPlan)) {
	t.Helper()
	for name, p := range products {
		for _, kind := range []device.DType{device.Float32, device.BFloat16, device.Float16} {
			t.Run(name+" "+kind.String(), func(t *testing.T) {
				off, took := p.try(t, d, kind, multiply)
				if got := d.Products(); !strings.HasPrefix(got, says) {
					t.Skipf("products are %s", got) // which is known after the first
				}
				if off > 1 {
					t.Errorf("its error is %.2f of what is allowed", off)
				}
				t.Logf("error %.2f of what is allowed, %.1f TFLOP/s", off, 2*float64(p.m)*float64(p.n)*float64(p.k)/took.Seconds()/1e12)
			})
		}
	}
}

// try multiplies twice and returns the greatest error of a row as a part of what is
// allowed, and how long a product takes.
func (p sized) try(t *testing.T, d *cuda.Device, kind device.DType, multiply func(device.MatMulPlan)) (off float64, took time.Duration) {
	t.Helper()
	host, err := cpu.Open(cpu.Options{Capacity: cpu.HostMemory()})
	fatal.If(t, err)
	defer host.Close() //nolint:errcheck // the test ends
	c, pre := onDevice(t, d, kind, p.m*p.n), device.Array{}
	d.Fill(c, math.NaN())
	fatal.If(t, d.Synchronize()) // before what takes long on the processor
	a, b := operand(t, host, d, kind, p.m*p.k, 1), operand(t, host, d, kind, p.n*p.k, 2)
	if p.gelu {
		pre = onDevice(t, d, kind, p.m*p.n)
	}
	var runs [2][]byte
	for i := range runs {
		d.Fill(c, math.NaN())
		multiply(p.plan(p.m, c, a.there, b.there, pre))
		runs[i] = make([]byte, c.Buffer().Bytes)
		fatal.If(t, d.Download(runs[i], c.Buffer()))
	}
	if !bytes.Equal(runs[0], runs[1]) {
		t.Error("two runs differ")
	}
	off = p.compare(t, host, kind, a.here, b.here, runs[0])
	start := time.Now()
	multiply(p.plan(p.m, c, a.there, b.there, pre))
	fatal.If(t, d.Synchronize())
	return off, time.Since(start)
}

// plan is the product of so many rows of A.
func (p sized) plan(m int, c, a, b, pre device.Array) device.MatMulPlan {
	return device.MatMul{
		C: c, A: a, B: b, M: m, N: p.n, K: p.k, TransA: p.transA, TransB: p.transB, Activate: p.gelu, Activation: device.GELUTanh, Pre: pre,
	}.Plan()
}

// compare computes rows again: all where a row of the result needs all of A, and else the
// first, the last and some between.
func (p sized) compare(t *testing.T, host *cpu.Device, kind device.DType, a, b device.Array, got []byte) (worst float64) {
	t.Helper()
	rows, all := []int{0, 1, p.m / 3, p.m / 2, p.m - 2, p.m - 1}, p.m
	if !p.transA {
		all = 1
	}
	if p.transA {
		rows = []int{0}
	}
	width := int64(p.n) * kind.Size()
	for _, row := range rows {
		part, pre := a, device.Array{}
		if !p.transA {
			part = a.Slice(row*p.k, p.k)
		}
		want, have := onHost(t, host, device.Float32, all*p.n), onHost(t, host, kind, all*p.n)
		if p.gelu {
			pre = onHost(t, host, device.Float32, all*p.n)
		}
		host.MatMul(p.plan(all, want, part, b, pre))
		host.Upload(have.Buffer(), got[int64(row)*width:int64(row+all)*width])
		read := onHost(t, host, device.Float32, all*p.n)
		host.Cast(read, have)
		worst = max(worst, distance(t, host, read, want)/allowed[kind])
	}
	return worst
}

// allowed is the relative error of a row of a product in a type.
var allowed = map[device.DType]float64{device.Float32: 1e-5, device.BFloat16: 0x1p-8, device.Float16: 0x1p-11}

// distance is the relative L2 error of an array.
func distance(t *testing.T, host *cpu.Device, got, want device.Array) float64 {
	t.Helper()
	var lists [2][]float32
	for i, a := range []device.Array{got, want} {
		lists[i] = make([]float32, a.Len)
		fatal.If(t, host.Download(unsafe.Slice((*byte)(unsafe.Pointer(&lists[i][0])), 4*a.Len), a.Buffer()))
	}
	off, size := 0.0, 0.0
	for i, w := range lists[1] {
		difference := float64(lists[0][i]) - float64(w)
		off, size = off+difference*difference, size+float64(w)*float64(w)
	}
	if math.IsNaN(off) || size == 0 {
		return math.Inf(1)
	}
	return math.Sqrt(off / size)
}

// both is an operand on the processor and on the GPU.
type both struct{ here, there device.Array }

func operand(t *testing.T, host *cpu.Device, d *cuda.Device, kind device.DType, n int, seed uint64) both {
	t.Helper()
	o := both{onHost(t, host, kind, n), onDevice(t, d, kind, n)}
	host.Normal(o.here, 0, 1, device.Seed{Seed: seed})
	content := make([]byte, o.here.Buffer().Bytes)
	fatal.If(t, host.Download(content, o.here.Buffer()))
	d.Upload(o.there.Buffer(), content)
	return o
}

func onHost(t *testing.T, host *cpu.Device, kind device.DType, n int) device.Array {
	t.Helper()
	addr, err := host.Malloc(int64(n) * kind.Size())
	fatal.If(t, err)
	return device.Array{Addr: addr, Len: n, DType: kind}
}

// onDevice returns an array of the device; a test that it has no room for is skipped.
func onDevice(t *testing.T, d *cuda.Device, kind device.DType, n int) device.Array {
	t.Helper()
	addr, err := d.Malloc(int64(n) * kind.Size())
	if errors.Is(err, alloc.ErrNoMemory) {
		t.Skip(err)
	}
	fatal.If(t, err)
	t.Cleanup(func() { d.Free(addr) })
	return device.Array{Addr: addr, Len: n, DType: kind}
}

// TestAGPUSendsOverTheHost moves bytes to memory of the host and back.
func TestAGPUSendsOverTheHost(t *testing.T) {
	d := gpu(t)
	pinned, _, err := d.OpenHost()
	fatal.If(t, err)
	want := noise(64 * mib)
	addr, err := pinned.Malloc(int64(len(want)))
	fatal.If(t, err)
	defer pinned.Free(addr)
	there := device.Buffer{Addr: addr, Bytes: int64(len(want))}
	from, to := buffer(t, d, int64(len(want))), buffer(t, d, int64(len(want)))
	d.Upload(from, want)
	sent := d.Send(there, from).Wait()
	back := d.Receive(to, there)
	back.Await()
	got := make([]byte, len(want))
	err = d.Download(got, to)
	if err := errors.Join(sent, err, back.Wait()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("other bytes came back, or none: %v", err)
	}
}

// gpu opens the first GPU of the machine. Without one it skips the test, with
// the reason.
func gpu(t *testing.T) *cuda.Device {
	t.Helper()
	d, err := cuda.Open(cuda.Options{OwnProducts: true}) // none multiplies
	if cuda.Unavailable(err) {
		t.Skip("no GPU: ", err)
	}
	fatal.If(t, err)
	t.Cleanup(func() {
		fatal.If(t, d.Close())
	})
	return d
}

func TestAGPUHasExpandableSegments(t *testing.T) {
	d := gpu(t)
	a, err := alloc.New(d, alloc.Options{})
	fatal.If(t, err)
	fatal.If(t, a.Configure("expandable_segments:True"))
	for _, size := range []int64{1000, 3 * mib, 50 * mib} {
		block, err := a.Alloc(size, cuda.ComputeStream, alloc.Tag{})
		fatal.If(t, err)
		want := noise(1000)
		d.Upload(deviceBuffer(block), want)
		got := make([]byte, len(want))
		if err := d.Download(got, deviceBuffer(block)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %v", size, err)
		}
		a.Free(block)
	}
	a.EmptyCache()
}
