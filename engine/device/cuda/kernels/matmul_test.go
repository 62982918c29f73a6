package kernels_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

var products = map[string]device.MatMul{
	"one number":          {M: 1, N: 1, K: 1},
	"odd sizes":           {M: 33, N: 17, K: 29},
	"a whole tile":        {M: 128, N: 128, K: 32},
	"more than a tile":    {M: 131, N: 33, K: 67},
	"many small":          {M: 5, N: 7, K: 9, Batch: 13},
	"nothing to add":      {M: 3, N: 4, K: 0},
	"long sums":           {M: 9, N: 8, K: 300},
	"no rows":             {M: 0, N: 4, K: 3},
	"one matrix for many": {M: 16, N: 24, K: 40, Batch: 3, StrideA: 16 * 40},
	"aligned":             {M: 64, N: 72, K: 80},
}

var productTypes = map[string][3]device.DType{
	"float32":               {device.Float32, device.Float32, device.Float32},
	"bfloat16":              {device.BFloat16, device.BFloat16, device.BFloat16},
	"bfloat16 into float32": {device.Float32, device.BFloat16, device.BFloat16},
	"float16":               {device.Float16, device.Float16, device.Float16},
	"float16 into float32":  {device.Float32, device.Float16, device.Float16},
	"float32 by bfloat16":   {device.Float32, device.Float32, device.BFloat16},
}

// Types that reach what others do not, and take long beside them.
func init() {
	if thorough {
		maps.Copy(productTypes, map[string][3]device.DType{
			"float32 into bfloat16": {device.BFloat16, device.Float32, device.Float32},
			"float32 into float16":  {device.Float16, device.Float32, device.Float32},
			"bfloat16 into float16": {device.Float16, device.BFloat16, device.BFloat16},
			"float16 into bfloat16": {device.BFloat16, device.Float16, device.Float16},
			"bfloat16 by float16":   {device.Float32, device.BFloat16, device.Float16},
			"float16 by float32":    {device.Float32, device.Float16, device.Float32},
		})
	}
}

// operand returns the elements of a matrix in memory, with rows pad elements
// longer than they are.
func (r *rig) operand(kind device.DType, transposed bool, rows, cols, batch, pad int) (a device.Array, stride, step int) {
	if transposed {
		rows, cols = cols, rows
	}
	stride = cols + pad
	step = rows * stride
	return r.normals(kind, batch*step), stride, step
}

// spaced returns a matrix whose rows begin at multiples of 16 bytes.
func (r *rig) spaced(kind device.DType, transposed bool, rows, cols int) (a device.Array, stride int) {
	last := cols
	if transposed {
		last = rows
	}
	a, stride, _ = r.operand(kind, transposed, rows, cols, 1, -last&7)
	return a, stride
}

// TestMatMul tries every size with every kernel: two mixes of types that use the
// same kernel, neighbours in the alphabet, share the sizes, one half each.
func TestMatMul(t *testing.T) {
	r := newRig(t)
	for i, name := range slices.Sorted(maps.Keys(products)) {
		m := products[name]
		for j, types := range slices.Sorted(maps.Keys(productTypes)) {
			kinds := productTypes[types]
			for k, trans := range []string{"nn", "nt", "tn", "tt"} {
				if (i+j+k)%2 == 1 && !thorough {
					continue
				}
				// Contiguous rows, and rows with a gap that keeps or breaks alignment; not
				// all for all.
				pad := []int{0, 3, 8}[(len(name)+len(types)+int(trans[0])+2*int(trans[1]))%3]
				t.Run(fmt.Sprintf("%s, %s, %s, %d between rows", name, types, trans, pad), func(t *testing.T) {
					r.seed(t.Name())
					r.multiply(t, m, kinds, trans, pad)
				})
			}
		}
	}
}

func (r *rig) multiply(t *testing.T, m device.MatMul, kinds [3]device.DType, trans string, pad int) {
	t.Helper()
	m.TransA, m.TransB = trans[0] == 't', trans[1] == 't'
	batch := max(m.Batch, 1)
	single := m.StrideA != 0
	m.A, m.LDA, m.StrideA = r.operand(kinds[1], m.TransA, m.M, m.K, batch, pad)
	m.B, m.LDB, m.StrideB = r.operand(kinds[2], m.TransB, m.K, m.N, batch, pad)
	if single {
		m.StrideA = 0
	}
	var held device.Array
	held, m.LDC, m.StrideC = r.operand(kinds[0], false, m.M, m.N, batch, pad)
	r.agree(t, 4, func(c computer) {
		m := m
		m.C = r.changed(held)
		c.MatMul(m.Plan())
		if m.M*m.N < 2000 {
			m.C, m.Alpha, m.Beta = r.changed(held), 0.5, 0.25
			c.MatMul(m.Plan())
		}
	})
}

func TestMatMulEnds(t *testing.T) {
	r := newRig(t)
	for types, kinds := range productTypes {
		for _, activation := range device.UnaryOps() {
			if !activation.EndsProduct() && activation != device.Neg {
				continue
			}
			for _, bias := range floats {
				if (bias == device.Float16 || bias != device.Float32 && activation != device.Neg) && !every {
					continue // an activation follows the bias, whatever its type
				}
				t.Run(fmt.Sprintf("%s, %v, bias in %v", types, activation, bias), func(t *testing.T) {
					r.seed(t.Name())
					r.ends(t, kinds, activation, bias)
				})
			}
		}
	}
}

// ends tries all that follows a sum, in the kernels for all four layouts.
func (r *rig) ends(t *testing.T, kinds [3]device.DType, activation device.UnaryOp, bias device.DType) {
	t.Helper()
	m := device.MatMul{M: 17, N: 35, K: 19, Activate: activation != device.Neg, Activation: activation, Beta: 1, Alpha: 0.5}
	m.Bias = r.normals(bias, m.N)
	for i, large := range []float64{90, -90, 400, -400} { // at each place of four
		r.cpu.Fill(m.Bias.Slice(4*i, 4), large)
	}
	held := r.normals(kinds[0], m.M*m.N)
	var products []device.MatMul
	for _, trans := range []string{"nn", "nt", "tn", "tt"} {
		m := m
		m.TransA, m.TransB = trans[0] == 't', trans[1] == 't'
		m.A, m.LDA = r.spaced(kinds[1], m.TransA, m.M, m.K)
		m.B, m.LDB = r.spaced(kinds[2], m.TransB, m.K, m.N)
		products = append(products, m)
	}
	r.agree(t, 4, func(c computer) {
		for _, m := range products {
			m.C, m.Pre = r.changed(held), r.output(kinds[0], m.M*m.N)
			c.MatMul(m.Plan())
			if m.Activate {
				m.C, m.Slope = r.changed(held), true
				c.MatMul(m.Plan())
			}
			m.C, m.Pre, m.Bias, m.Beta, m.Slope = r.output(kinds[0], m.M*m.N), device.Array{}, device.Array{}, 0, false
			c.MatMul(m.Plan())
		}
	})
}

func TestMatMulSumsRowsOfA(t *testing.T) {
	r := newRig(t)
	for types, kinds := range productTypes {
		inProduct := kinds[1] == kinds[2] && kinds[1] != device.Float32 // else it is a reduction
		for i, size := range [][3]int{{1, 1, 1}, {17, 35, 19}, {131, 129, 300}, {5, 3, 0}, {130, 0, 40}} {
			for j, transB := range []bool{false, true} {
				if !every && (!inProduct && i != 1 || (i+j+len(types))%2 == 1) {
					continue
				}
				t.Run(fmt.Sprintf("%s, %v, transposed %v", types, size, transB), func(t *testing.T) {
					r.seed(t.Name())
					m := device.MatMul{M: size[0], N: size[1], K: size[2], TransA: true, TransB: transB, Alpha: 0.5}
					m.A, m.B = r.normals(kinds[1], m.M*m.K), r.normals(kinds[2], m.N*m.K)
					r.agree(t, 16, func(c computer) {
						m := m
						m.C, m.SumA = r.output(kinds[0], m.M*m.N), r.output(kinds[0], m.M)
						c.MatMul(m.Plan())
					})
				})
			}
		}
	}
}

func TestLargeProducts(t *testing.T) {
	r := newRig(t)
	for name, test := range map[string]struct {
		m     device.MatMul
		kinds [2]device.DType
	}{
		"float32":                            {device.MatMul{M: 1409, N: 1411, K: 5}, [2]device.DType{device.Float32, device.Float32}},
		"both transposed, of two types":      {device.MatMul{M: 1409, N: 1412, K: 20, TransA: true, TransB: true}, [2]device.DType{device.Float16, device.BFloat16}},
		"both transposed, of two other ones": {device.MatMul{M: 1412, N: 1409, K: 20, TransA: true, TransB: true}, [2]device.DType{device.BFloat16, device.Float16}},
		"rows of four, of two types":         {device.MatMul{M: 1409, N: 1412, K: 20}, [2]device.DType{device.Float16, device.BFloat16}},
		"rows of four, of two other ones":    {device.MatMul{M: 1409, N: 1412, K: 20}, [2]device.DType{device.BFloat16, device.Float16}},
		"both transposed, unaligned":         {device.MatMul{M: 1409, N: 1411, K: 21, TransA: true, TransB: true}, [2]device.DType{device.Float32, device.Float32}},
		"both transposed, aligned":           {device.MatMul{M: 1412, N: 1412, K: 20, TransA: true, TransB: true}, [2]device.DType{device.Float32, device.Float32}},
		"a column of sums of nothing":        {device.MatMul{M: 1409, N: 1411, K: 0}, [2]device.DType{device.Float32, device.Float32}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "float32" && !thorough {
				t.Skip("it takes seconds, and only the PTX has another way for it: MEMTOP_GPU=ptx lets it")
			}
			r.seed(t.Name())
			m := test.m
			m.A, m.B = r.normals(test.kinds[0], m.M*m.K), r.normals(test.kinds[1], m.K*m.N)
			r.agree(t, 4, func(c computer) {
				m := m
				m.C = r.output(device.Float32, m.M*m.N)
				c.MatMul(m.Plan())
			})
		})
	}
}

var convolutions = map[string]device.Conv2D{
	"one element": {Batch: 1, InChannels: 1, OutChannels: 1, InHeight: 1, InWidth: 1, KernelHeight: 1, KernelWidth: 1},
	"padded":      {Batch: 2, InChannels: 3, OutChannels: 5, InHeight: 7, InWidth: 6, KernelHeight: 3, KernelWidth: 3, PadHeight: 1, PadWidth: 1},
	"strides, dilation and groups": {
		Batch: 2, InChannels: 4, OutChannels: 6, InHeight: 11, InWidth: 9, KernelHeight: 2, KernelWidth: 3, StrideHeight: 2, StrideWidth: 3,
		PadHeight: 2, PadWidth: 1, DilateHeight: 3, DilateWidth: 2, Groups: 2,
	},
	"more padding than image": {Batch: 1, InChannels: 1, OutChannels: 2, InHeight: 2, InWidth: 2, KernelHeight: 2, KernelWidth: 4, PadHeight: 3, PadWidth: 5},
}

func TestConvolutions(t *testing.T) {
	r := newRig(t)
	for name, x := range convolutions {
		for mix, kinds := range mixes {
			for _, rows := range []int{2, 1000} {
				t.Run(fmt.Sprintf("%s, %s, at most %d rows", name, mix, rows), func(t *testing.T) {
					r.seed(t.Name())
					r.kernels.SetBand(kernels.ScratchBytes, rows)
					r.convolve(t, x, kinds)
				})
			}
		}
	}
}

func (r *rig) convolve(t *testing.T, x device.Conv2D, kinds [3]device.DType) {
	t.Helper()
	n := x.Normalized()
	in, out := x.Batch*x.InChannels*x.InHeight*x.InWidth, x.Batch*x.OutChannels*n.OutHeight()*n.OutWidth()
	weights := x.OutChannels * x.InChannels / n.Groups * x.KernelHeight * x.KernelWidth
	x.X, x.Weight, x.Bias = r.normals(kinds[1], in), r.normals(kinds[2], weights), r.normals(kinds[2], x.OutChannels)
	dy := r.normals(kinds[0], out)
	r.agree(t, 4, func(c computer) {
		x := x
		x.Y = r.output(kinds[0], out)
		x.Work = r.buffer(x.Workspace())
		c.Conv2D(x.Plan())
		g := device.Conv2DBackward{
			C: x, DY: dy, DX: r.output(kinds[1], in), DWeight: r.output(kinds[2], weights), DBias: r.output(kinds[2], x.OutChannels),
			Work: r.buffer(x.BackwardWorkspace()),
		}
		c.Conv2DBackward(g.Plan())
	})
}
