package kernels_test

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/hostbuild"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// countingQueue takes launches and does nothing.
type countingQueue struct{ launches, threads int }

func (q *countingQueue) Enqueue(l *kernels.Launch) {
	q.launches++
	q.threads = max(q.threads, int(l.Grid[0]*l.Threads))
}

// array returns an array that is neither read nor written.
func nowhere(d device.DType, n int) device.Array {
	return device.Array{Addr: 1 << 40, Len: n, DType: d}
}

func newCounting() (*countingQueue, *kernels.Compute) {
	q := &countingQueue{}
	return q, kernels.NewCompute(q, device.Buffer{Addr: 1 << 41, Bytes: kernels.ScratchBytes}, 1<<42)
}

func TestLaunchingAllocatesNothing(t *testing.T) {
	q, c := newCounting()
	x, one, list := nowhere(device.BFloat16, 1<<20), nowhere(device.Float32, 1), make([]device.Array, 200)
	for i := range list {
		list[i] = nowhere(device.Float32, 1000)
	}
	parameters := make([]device.Parameter, 200)
	for i := range parameters {
		parameters[i] = device.Parameter{P: list[0], G: list[1], M: list[2], V: list[3]}
	}
	work := device.Buffer{Addr: 1 << 43, Bytes: 1 << 30}
	got := testing.AllocsPerRun(10, func() {
		c.Binary(device.Add, x, x, x)
		c.Norm2(one, list)
		c.Reduce(device.Sum, nowhere(device.Float32, 1024), x, 1, 1024, 1024)
		c.MatMul(device.MatMul{C: x, A: x, B: x, M: 1024, N: 1024, K: 1024}.Plan())
		c.Update(device.Update{Rule: device.AdamW, List: parameters, Step: one}.Plan())
		h := device.Heads{Array: x, BatchStride: 1 << 19, HeadStride: 64, RowStride: 1024}
		a := device.Attention{
			Kind: device.Flash, Batch: 2, Heads: 16, Queries: 512, Keys: 512, Dim: 64, Q: h, K: h, V: h, O: h,
			LSE: nowhere(device.Float32, 2*16*512),
		}
		c.Attention(a.Plan())
		c.AttentionBackward(device.AttentionBackward{A: a, DO: h, DQ: h, DK: h, DV: h, Work: work}.Plan())
	})
	if got != 0 {
		t.Errorf("%v allocations in a round of launches", got)
	}
	if q.launches == 0 {
		t.Error("nothing was launched")
	}
}

// kernelQueue keeps the kernels of launches.
type kernelQueue struct{ kernels []kernels.Kernel }

func (q *kernelQueue) Enqueue(l *kernels.Launch) { q.kernels = append(q.kernels, l.Kernel) }

func TestFlashTakesTheTensorCoresForWhatTheyCanRead(t *testing.T) {
	ordinary := []kernels.Kernel{kernels.Flash, kernels.AttentionDelta, kernels.FlashQueries, kernels.FlashKeys}
	for name, test := range map[string]struct {
		kind     device.DType
		dim      int
		operand  func(g *device.AttentionBackward)
		launched []kernels.Kernel
	}{
		"small heads":      {device.BFloat16, 64, nil, []kernels.Kernel{kernels.FlashBfloat64, kernels.AttentionDelta, kernels.FlashBackwardBfloat64}},
		"large heads":      {device.Float16, 72, nil, []kernels.Kernel{kernels.FlashHalf128, kernels.AttentionDelta, kernels.FlashBackwardHalf128}},
		"larger heads":     {device.BFloat16, 136, nil, ordinary},
		"an odd dimension": {device.BFloat16, 60, nil, ordinary},
		"float32":          {device.Float32, 64, nil, ordinary},
		"a gradient of another type": {
			device.BFloat16, 64, func(g *device.AttentionBackward) { g.DQ.DType = device.Float32 },
			append([]kernels.Kernel{kernels.FlashBfloat64}, ordinary[1:]...),
		},
		"rows that begin anywhere":  {device.BFloat16, 64, func(g *device.AttentionBackward) { g.A.V.RowStride++ }, ordinary},
		"heads that begin anywhere": {device.BFloat16, 64, func(g *device.AttentionBackward) { g.A.K.Addr += 2 }, ordinary},
	} {
		t.Run(name, func(t *testing.T) {
			q := &kernelQueue{}
			c := kernels.NewCompute(q, device.Buffer{Addr: 1 << 41, Bytes: kernels.ScratchBytes}, 1<<42)
			h := device.Heads{Array: nowhere(test.kind, 1<<20), BatchStride: 1 << 14, HeadStride: test.dim, RowStride: 1024}
			g := device.AttentionBackward{
				A: device.Attention{
					Kind: device.Flash, Batch: 2, Heads: 2, Queries: 10, Keys: 10, Dim: test.dim, Q: h, K: h, V: h, O: h,
					LSE: nowhere(device.Float32, 40),
				},
				DO: h, DQ: h, DK: h, DV: h, Work: device.Buffer{Addr: 1 << 43, Bytes: 1 << 20},
			}
			if test.operand != nil {
				test.operand(&g)
			}
			c.Attention(g.A.Plan())
			c.AttentionBackward(g.Plan())
			if !slices.Equal(q.kernels, test.launched) {
				t.Errorf("launched %v, want %v", q.kernels, test.launched)
			}
		})
	}
}

// GPT-2 has 148 parameters.
func TestAListOfParametersTakesFewLaunches(t *testing.T) {
	x, one := nowhere(device.Float32, 1000), nowhere(device.Float32, 1)
	arrays, parameters := make([]device.Array, 148), make([]device.Parameter, 148)
	for i := range parameters {
		arrays[i], parameters[i] = x, device.Parameter{P: x, G: x, M: x, V: x, Low: nowhere(device.BFloat16, 1000)}
	}
	tests := map[string]struct {
		do   func(c *kernels.Compute)
		want int
	}{
		"a step": {func(c *kernels.Compute) {
			c.Update(device.Update{Rule: device.AdamW, List: parameters, Step: one}.Plan())
		}, 4},
		"the norm":            {func(c *kernels.Compute) { c.Norm2(one, arrays) }, 2},
		"the end of a scale":  {func(c *kernels.Compute) { c.Unscale(arrays, one, one) }, 1},
		"a step without any":  {func(c *kernels.Compute) { c.Update(device.Update{Rule: device.SGD}.Plan()) }, 0},
		"one of no elements":  {func(c *kernels.Compute) { c.Unscale([]device.Array{{}}, one, one) }, 0},
		"the norm of nothing": {func(c *kernels.Compute) { c.Norm2(one, nil) }, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			q, c := newCounting()
			if test.do(c); q.launches != test.want {
				t.Errorf("%d launches, want %d", q.launches, test.want)
			}
		})
	}
}

func TestOperationsOnNothingLaunchNothing(t *testing.T) {
	q, c := newCounting()
	none := device.Array{}
	c.Fill(none, 1)
	c.Unary(device.GELU, none, none)
	c.Softmax(none, none, 0, 5, false)
	c.MatMul(device.MatMul{N: 4, K: 4, B: nowhere(device.Float32, 16)}.Plan())
	c.Gather(none, nowhere(device.Float32, 8), device.Array{DType: device.Int64}, 2, 4)
	c.CopyStrided(device.Strided{Strides: []int{1}}, device.Strided{Strides: []int{1}}, []int{0})
	if q.launches != 0 {
		t.Errorf("%d launches", q.launches)
	}
}

// TestFloat64IsForTheProcessor wants one clear line of every kind of operation.
func TestFloat64IsForTheProcessor(t *testing.T) {
	_, c := newCounting()
	d, f, ids := nowhere(device.Float64, 4), nowhere(device.Float32, 1), nowhere(device.Int32, 2)
	h := device.Heads{Array: d, BatchStride: 4, HeadStride: 2, RowStride: 2}
	a := device.Attention{Batch: 1, Heads: 1, Queries: 2, Keys: 2, Dim: 2, Q: h, K: h, V: h, O: h, Probs: d}
	norm := device.Norm{Rows: 2, Cols: 2, X: d, Y: d, RStd: nowhere(device.Float64, 2), RMS: true}
	image := device.Conv2D{Batch: 1, InChannels: 1, OutChannels: 1, InHeight: 2, InWidth: 2, KernelHeight: 1, KernelWidth: 1, X: d, Y: d, Weight: d.Slice(0, 1), Work: device.Buffer{Addr: 1, Bytes: 1 << 20}}
	entropy := device.CrossEntropy{Rows: 2, Classes: 2, Logits: d, Targets: ids, LSE: d.Slice(0, 2), Loss: d.Slice(0, 1), Count: d.Slice(0, 1)}
	for name, do := range map[string]func(){
		"unary":            func() { c.Unary(device.Neg, d, d) },
		"unary backward":   func() { c.UnaryBackward(device.Neg, d, d, d) },
		"binary":           func() { c.Binary(device.Add, d, d, d) },
		"add scaled":       func() { c.AddScaled(d, d, d, 2) },
		"scale":            func() { c.Scale(d, d, 2) },
		"matmul":           func() { c.MatMul(device.MatMul{C: d, A: d, B: d, M: 2, N: 2, K: 2}.Plan()) },
		"reduce":           func() { c.Reduce(device.Sum, d.Slice(0, 1), d, 1, 4, 1) },
		"norm2":            func() { c.Norm2(d.Slice(0, 1), nil) },
		"add squares":      func() { c.AddSquares(d.Slice(0, 1), []device.Array{d}) },
		"unscale":          func() { c.Unscale([]device.Array{d}, f, f) },
		"softmax":          func() { c.Softmax(d, d, 2, 2, false) },
		"softmax backward": func() { c.SoftmaxBackward(d, d, d, 2, 2) },
		"cross entropy":    func() { c.CrossEntropy(entropy) },
		"norm":             func() { c.Normalize(norm.Plan()) },
		"norm backward":    func() { c.NormalizeBackward(device.NormBackward{N: norm, DY: d, DX: d}.Plan()) },
		"scatter add":      func() { c.ScatterAdd(d, d, ids, 2, 2) },
		"dropout":          func() { c.Dropout(d, d, device.Array{}, 0.5, device.Seed{}) },
		"random":           func() { c.Normal(d, 0, 1, device.Seed{}) },
		"attention":        func() { c.Attention(a.Plan()) },
		"convolution":      func() { c.Conv2D(image.Plan()) },
		"update":           func() { c.Update(device.Update{Rule: device.SGD, List: []device.Parameter{{P: d, G: d}}}.Plan()) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got, want := recover(), "kernels: "+name+" of float64: only the processor computes in it, cpu:0"; got != want {
					t.Errorf("got %v, want %q", got, want)
				}
			}()
			do()
		})
	}
}

func TestArgumentsLieAsTheKernelsReadThem(t *testing.T) {
	address, err := hostbuild.Table(t.Context(), kernels.LayoutTable(), "memtop_layout")
	if errors.Is(err, hostbuild.ErrNoCompiler) {
		t.Skip(err)
	}
	fatal.If(t, err)
	want, meanings := kernels.Layout()
	for i, got := range unsafe.Slice((*uint32)(pointer(uint64(address))), len(want)) {
		if got != want[i] {
			t.Errorf("%s: %d in C++, %d in Go", meanings[i], got, want[i])
		}
	}
}
