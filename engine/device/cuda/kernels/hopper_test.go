package kernels_test

import (
	"fmt"
	"testing"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// hopperRig is a rig whose kernels are Hopper's, on a Hopper GPU or on the host.
func hopperRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	if g, ok := r.machine.(interface{ Info() cuda.Info }); ok && (g.Info().Major != 9 || g.Info().Minor != 0) {
		t.Skip("the GPU is not of compute capability 9.0")
	}
	r.kernels.UseHopper(device.BFloat16, true)
	r.kernels.UseHopper(device.Float16, true)
	return r
}

// spaced returns a matrix whose rows begin at multiples of 16 bytes.
func (r *rig) spaced(kind device.DType, transposed bool, rows, cols, batch int) (a device.Array, stride, step int) {
	last := cols
	if transposed {
		last = rows
	}
	return r.operand(kind, transposed, rows, cols, batch, -last&7)
}

func TestHopperProducts(t *testing.T) {
	r := hopperRig(t)
	start := r.next
	shapes := map[string]device.MatMul{
		"one number":           {M: 1, N: 1, K: 1},
		"odd sizes":            {M: 33, N: 17, K: 29},
		"a tile of three":      {M: 128, N: 128, K: 192},
		"more than a tile":     {M: 133, N: 131, K: 67},
		"many":                 {M: 9, N: 66, K: 70, Batch: 3},
		"nothing to add":       {M: 3, N: 4, K: 0},
		"more than all stages": {M: 70, N: 8, K: 333},
	}
	for name, shape := range shapes {
		for i, trans := range []string{"nn", "nt", "tn", "tt"} {
			for _, kind := range halves(len(name) + i) {
				t.Run(fmt.Sprintf("%s, %v, %s", name, kind, trans), func(t *testing.T) {
					r.seed(t.Name())
					r.next = start
					m := shape
					m.TransA, m.TransB = trans[0] == 't', trans[1] == 't'
					m.A, m.LDA, m.StrideA = r.spaced(kind, m.TransA, m.M, m.K, max(m.Batch, 1))
					m.B, m.LDB, m.StrideB = r.spaced(kind, m.TransB, m.K, m.N, max(m.Batch, 1))
					m.Bias = r.normals(device.Float32, m.N)
					r.agree(t, 4, func(c computer) {
						m := m
						m.C, m.Pre = r.output(device.Float32, m.M*m.N*max(m.Batch, 1)), r.output(device.Float32, m.M*m.N*max(m.Batch, 1))
						m.Activate, m.Activation = true, device.SiLU
						c.MatMul(m.Plan())
					})
				})
			}
		}
	}
}

func TestHopperProductsEnd(t *testing.T) {
	r := hopperRig(t)
	start := r.next
	for bias, to := range []device.DType{device.Float32, device.BFloat16, device.Float16, device.Float64} {
		for i, activation := range []device.UnaryOp{device.Neg, device.ReLU, device.GELU, device.GELUTanh, device.SiLU} {
			for _, kind := range halves(bias + i) {
				t.Run(fmt.Sprintf("%v into %v, %v, in float32", kind, to, activation), func(t *testing.T) {
					r.seed(t.Name())
					r.next = start
					r.ends(t, [3]device.DType{to, kind, kind}, activation, floats[[]int{0, 1, 3, 2}[bias]])
				})
			}
		}
	}
}

func TestHopperSumsRowsOfA(t *testing.T) {
	r := hopperRig(t)
	start := r.next
	for i, size := range [][3]int{{8, 8, 1}, {72, 136, 67}, {136, 264, 333}, {8, 16, 0}} {
		for j, transB := range []bool{false, true} {
			for _, kind := range halves(i + j) {
				t.Run(fmt.Sprintf("%v, %v, transposed %v", kind, size, transB), func(t *testing.T) {
					r.seed(t.Name())
					r.next = start
					m := device.MatMul{M: size[0], N: size[1], K: size[2], TransA: true, TransB: transB, Alpha: 0.5}
					m.A = r.normals(kind, m.M*m.K)
					m.B, m.LDB, m.StrideB = r.spaced(kind, transB, m.K, m.N, 1)
					r.agree(t, 16, func(c computer) {
						m := m
						m.C, m.SumA = r.output(device.Float32, m.M*m.N), r.output(kind, m.M)
						c.MatMul(m.Plan())
					})
				})
			}
		}
	}
}

// TestDividedProducts has the parts of a tile come in rising and in falling order.
func TestDividedProducts(t *testing.T) {
	r := hopperRig(t)
	start := r.next
	const largest = 136
	for name, test := range map[string]struct {
		m     device.MatMul
		parts int
	}{
		"two parts":               {device.MatMul{M: 40, N: 24, K: 128}, 2},
		"the last part is less":   {device.MatMul{M: 40, N: 24, K: 333}, 4},
		"the parts are no more":   {device.MatMul{M: 9, N: 8, K: 70}, 7},
		"several tiles":           {device.MatMul{M: largest, N: 131, K: 197}, 3},
		"several, of several":     {device.MatMul{M: 40, N: 24, K: 128, Batch: 2}, 2},
		"added to what was there": {device.MatMul{M: 131, N: 40, K: 200, Beta: 1, Alpha: 0.5}, 2},
	} {
		r.kernels.SetParts(test.parts)
		for _, kind := range []device.DType{device.BFloat16, device.Float16} {
			if kind == device.Float16 && test.m.M < largest { // its kernels are the same but for the numbers
				continue
			}
			for _, trans := range []string{"nn", "nt", "tn", "tt"} {
				t.Run(fmt.Sprintf("%s, %v, %s", name, kind, trans), func(t *testing.T) {
					r.seed(t.Name())
					r.next = start
					m := test.m
					m.TransA, m.TransB = trans[0] == 't', trans[1] == 't'
					m.A, m.LDA, m.StrideA = r.spaced(kind, m.TransA, m.M, m.K, max(m.Batch, 1))
					m.B, m.LDB, m.StrideB = r.spaced(kind, m.TransB, m.K, m.N, max(m.Batch, 1))
					m.Bias = r.normals(device.Float32, m.N)
					held := r.normals(device.Float32, m.M*m.N*max(m.Batch, 1))
					r.agree(t, 4, func(c computer) {
						m := m
						m.C = r.changed(held)
						m.Activate, m.Activation = true, device.ReLU
						c.MatMul(m.Plan())
						if m.TransA && m.LDA == m.M && m.Batch == 0 { // twice: the counts are 0 again
							m.C, m.SumA, m.Activate, m.Bias = r.changed(held), r.output(device.Float32, m.M), false, device.Array{}
							c.MatMul(m.Plan())
						}
					})
				})
			}
		}
	}
}

// TestProductsAreDividedBySize has the gradients of the weights of GPT-2 124M, and what is
// as well off whole.
func TestProductsAreDividedBySize(t *testing.T) {
	for name, test := range map[string]struct{ m, n, k, want int }{
		"of the product of attention":  {768, 768, 16384, 7},
		"of queries, keys and values":  {2304, 768, 16384, 2},
		"of the MLP":                   {3072, 768, 16384, 3},
		"of the head":                  {50304, 768, 16384, 1},
		"the head's own":               {16384, 50304, 768, 1},
		"the MLP's own":                {16384, 3072, 768, 1},
		"of a few samples":             {3072, 768, 512, 1},
		"one tile":                     {128, 128, 64, 1},
		"one tile of enormous depth":   {128, 128, 1 << 22, 132},
		"nothing to add":               {128, 128, 0, 1},
		"more parts than scratch hold": {1280, 1280, 1 << 20, 5},
	} {
		t.Run(name, func(t *testing.T) {
			q := &lastQueue{}
			c := kernels.NewCompute(q, device.Buffer{Addr: 1 << 41, Bytes: kernels.ScratchBytes}, 1<<42)
			c.UseHopper(device.BFloat16, true)
			at := func(n int) device.Array { return device.Array{Addr: 1 << 40, Len: n, DType: device.BFloat16} }
			c.MatMul(device.MatMul{M: test.m, N: test.n, K: test.k, TransA: true, A: at(test.m * test.k), B: at(test.k * test.n), C: at(test.m * test.n)}.Plan())
			if got := int(q.last.Grid[1]); got != test.want || q.launches != 1 {
				t.Errorf("%d parts in %d launches, want %d in one", got, q.launches, test.want)
			}
		})
	}
}

// partsQueue counts the launches of Hopper's products, and keeps the most parts of one.
type partsQueue struct {
	launches int
	most     uint32
}

func (q *partsQueue) Enqueue(l *kernels.Launch) {
	if m := kernels.ModuleOf(l.Kernel); m == kernels.HopperBfloat || m == kernels.HopperHalf {
		q.launches, q.most = q.launches+1, max(q.most, l.Grid[1])
	}
}

// TestAttentionIsNotDivided has products that are deep enough to be, of which one has its
// result in the scratch, where parts would lie.
func TestAttentionIsNotDivided(t *testing.T) {
	q := &partsQueue{}
	c := kernels.NewCompute(q, device.Buffer{Addr: 1 << 41, Bytes: kernels.ScratchBytes}, 1<<42)
	c.UseHopper(device.BFloat16, true)
	const n, dim = 128, 16384
	row := device.Heads{Array: nowhere(device.BFloat16, n*dim), BatchStride: n * dim, HeadStride: dim, RowStride: dim}
	a := device.Attention{Kind: device.Naive, Batch: 1, Heads: 1, Queries: n, Keys: n, Dim: dim, Q: row, K: row, V: row, O: row, Probs: nowhere(device.BFloat16, n*n)}
	c.Attention(a.Plan())
	if q.launches != 2 || q.most != 1 {
		t.Errorf("%d products of at most %d parts, want 2 of one", q.launches, q.most)
	}
}

// lastQueue keeps the last launch, and counts all.
type lastQueue struct {
	last     kernels.Launch
	launches int
}

func (q *lastQueue) Enqueue(l *kernels.Launch) { q.last, q.launches = *l, q.launches+1 }

func TestHopperTakesWhatIsAligned(t *testing.T) {
	at := func(d device.DType, addr uint64) device.Array {
		return device.Array{Addr: addr, Len: 1 << 16, DType: d}
	}
	const to = 1 << 40
	even := device.MatMul{C: nowhere(device.Float32, 1<<16), A: at(device.BFloat16, to), B: at(device.BFloat16, to), M: 64, N: 64, K: 64}
	tests := map[string]struct {
		change func(m *device.MatMul)
		want   kernels.Kernel
	}{
		"rows at multiples of 16 bytes": {func(*device.MatMul) {}, kernels.HopperBfloatNn},
		"both transposed":               {func(m *device.MatMul) { m.TransA, m.TransB = true, true }, kernels.HopperBfloatTt},
		"float16":                       {func(m *device.MatMul) { m.A.DType, m.B.DType, m.TransB = device.Float16, device.Float16, true }, kernels.HopperHalfNt},
		"an odd address":                {func(m *device.MatMul) { m.A.Addr += 8 }, kernels.TensorBfloatNn},
		"rows of an odd length":         {func(m *device.MatMul) { m.LDB = 68 }, kernels.TensorBfloatNn},
		"matrices at odd places":        {func(m *device.MatMul) { m.Batch, m.StrideA = 2, 4097 }, kernels.TensorBfloatNn},
		"two types":                     {func(m *device.MatMul) { m.B.DType = device.Float16 }, kernels.MatmulSmall},
		"sums of A's rows":              {func(m *device.MatMul) { m.TransA, m.SumA = true, at(device.Float32, to).Slice(0, 64) }, kernels.HopperBfloatTn},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			q := &lastQueue{}
			c := kernels.NewCompute(q, device.Buffer{Addr: 1 << 41, Bytes: kernels.ScratchBytes}, 1<<42)
			m := even
			test.change(&m)
			c.UseHopper(device.BFloat16, true)
			c.UseHopper(device.Float16, true)
			c.MatMul(m.Plan())
			if q.last.Kernel != test.want || q.launches != 1 {
				t.Errorf("got %d launches, the last %v, want only %v", q.launches, q.last.Kernel, test.want)
			}
			c.UseHopper(device.BFloat16, false)
			c.UseHopper(device.Float16, false)
			c.MatMul(m.Plan())
			if got := kernels.ModuleOf(q.last.Kernel); got == kernels.HopperBfloat || got == kernels.HopperHalf {
				t.Errorf("got %v on a device that is not Hopper", q.last.Kernel)
			}
		})
	}
}
