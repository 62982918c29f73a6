package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// referenceProduct is the definition, in float64.
func referenceProduct(m device.MatMul, a, b, c, bias []float64) (result, pre []float64) {
	m = m.Normalized()
	result = append([]float64(nil), c...)
	pre = append([]float64(nil), c...)
	for batch := range m.Batch {
		for i := range m.M {
			for j := range m.N {
				s := 0.0
				for p := range m.K {
					at, bt := i*m.LDA+p, p*m.LDB+j
					if m.TransA {
						at = p*m.LDA + i
					}
					if m.TransB {
						bt = j*m.LDB + p
					}
					s += a[batch*m.StrideA+at] * b[batch*m.StrideB+bt]
				}
				k := batch*m.StrideC + i*m.LDC + j
				s *= m.Alpha
				if m.Beta != 0 {
					s += m.Beta * c[k]
				}
				if bias != nil {
					s += bias[j]
				}
				pre[k], result[k] = s, s
				if m.Activate {
					result[k] = referenceUnary(m.Activation, s)
				}
			}
		}
	}
	return result, pre
}

func TestMatMulAgreesWithTheDefinition(t *testing.T) {
	fatal.IfShort(t)
	tests := map[string]device.MatMul{
		"one number":                          {M: 1, N: 1, K: 1},
		"a row by a column":                   {M: 1, N: 1, K: 300},
		"a column by a row":                   {M: 37, N: 41, K: 1},
		"whole tiles":                         {M: 24, N: 64, K: 256},
		"odd sizes":                           {M: 13, N: 33, K: 257},
		"more than one block of K":            {M: 17, N: 35, K: 600},
		"more than one task":                  {M: 400, N: 530, K: 20},
		"no K":                                {M: 3, N: 5, K: 0},
		"A transposed":                        {M: 29, N: 31, K: 37, TransA: true},
		"B transposed":                        {M: 29, N: 31, K: 37, TransB: true},
		"both transposed":                     {M: 29, N: 31, K: 37, TransA: true, TransB: true},
		"alpha and beta":                      {M: 14, N: 50, K: 300, Alpha: 0.5, Beta: -2},
		"added to what was there":             {M: 14, N: 50, K: 300, Beta: 1},
		"rows with gaps":                      {M: 7, N: 18, K: 9, LDA: 12, LDB: 25, LDC: 21},
		"a batch of many":                     {M: 10, N: 12, K: 14, Batch: 5, StrideA: 140, StrideB: 168},
		"a batch with one B":                  {M: 10, N: 12, K: 14, Batch: 3, StrideA: 150, TransB: true},
		"with bias":                           {M: 20, N: 70, K: 30, Bias: device.Array{Len: 1}},
		"with bias and GELU, keeping the sum": {M: 20, N: 70, K: 300, Bias: device.Array{Len: 1}, Activate: true, Activation: device.GELUTanh, Pre: device.Array{Len: 1}},
	}
	for name, m := range tests {
		for _, kind := range floats {
			t.Run(fmt.Sprintf("%s, %v", name, kind), func(t *testing.T) {
				r := newRig(t, 2)
				checkMatMul(t, r, m, kind)
				r.pairs = simd.Product{}
				for _, kernel := range simd.Products() {
					r.product = kernel
					checkMatMul(t, r, m, kind)
				}
			})
		}
	}
}

func checkMatMul(t *testing.T, r *rig, m device.MatMul, kind device.DType) {
	t.Helper()
	full := m.Normalized()
	rows := func(transposed bool, a, b int) int {
		if transposed {
			return b
		}
		return a
	}
	m.A = r.normals(kind, (full.Batch-1)*m.StrideA+rows(m.TransA, m.M, m.K)*full.LDA)
	m.B = r.normals(kind, (full.Batch-1)*m.StrideB+rows(m.TransB, m.K, m.N)*full.LDB)
	m.C = r.normals(kind, (full.Batch-1)*full.StrideC+m.M*full.LDC)
	var bias []float64
	if m.Bias.Len > 0 {
		m.Bias = r.normals(kind, m.N)
		bias = r.get(m.Bias)
	}
	if m.Pre.Len > 0 {
		m.Pre = r.put(kind, r.get(m.C)...)
	}
	want, pre := referenceProduct(m, r.get(m.A), r.get(m.B), r.get(m.C), bias)
	r.MatMul(m.Plan())
	allowed := tolerance(kind) * math.Sqrt(float64(m.K+1))
	near(t, r.product.Name, r.get(m.C), want, allowed)
	if !m.Pre.Absent() {
		near(t, r.product.Name+", before the activation", r.get(m.Pre), pre, allowed)
	}
}

func TestMatMulGivesTheSameBitsWithAnyKernelInAssemblyAndAnyThreads(t *testing.T) {
	var first []byte
	for _, threads := range []int{1, 2, 3} {
		kernels := simd.Products()
		for _, kernel := range kernels[:len(kernels)-1] {
			for _, alone := range []bool{false, true} {
				r := newRig(t, threads)
				r.product = kernel
				m := device.MatMul{M: 210, N: 550, K: 700, TransB: true, Alpha: 0.3}
				m.A, m.B, m.C = r.normals(device.Float32, 210*700), r.normals(device.BFloat16, 550*700), r.array(device.Float32, 210*550)
				if alone {
					n := m.Normalized()
					multiplyAlone(r.pool.workers[0], r.resolveMatMul(&n), kernel)
				} else {
					r.MatMul(m.Plan())
				}
				got := r.bytes(m.C)
				if first == nil {
					first = got
				}
				if !bytes.Equal(got, first) {
					t.Errorf("%s with %d threads, alone %v: other bits", kernel.Name, threads, alone)
				}
			}
		}
	}
}

func TestMatMulOfPairsGivesTheSameBitsWithAnyThreads(t *testing.T) {
	if _, ok := simd.Pairs(); !ok {
		t.Skip("this processor does not multiply pairs of bfloat16 numbers")
	}
	var first []byte
	for _, threads := range []int{1, 2, 3} {
		r := newRig(t, threads)
		m := device.MatMul{M: 210, N: 550, K: 1301, TransA: true}
		m.A, m.B, m.C = r.normals(device.BFloat16, 210*1301), r.normals(device.BFloat16, 550*1301), r.array(device.Float32, 210*550)
		want, _ := referenceProduct(m, r.get(m.A), r.get(m.B), make([]float64, 210*550), nil)
		r.MatMul(m.Plan())
		near(t, "pairs", r.get(m.C), want, 1e-4) // as exact as products in float32
		if got := r.bytes(m.C); first == nil {
			first = got
		} else if !bytes.Equal(got, first) {
			t.Errorf("%d threads: other bits", threads)
		}
	}
}

// TestVectorLoopsGiveTheBitsOfThePlainOnes runs each loop over many numbers at
// once, and over one at a time, which is plain Go.
func TestVectorLoopsGiveTheBitsOfThePlainOnes(t *testing.T) {
	const n = 1003
	x, y := vectorOperands(n)
	loops := map[string]func(dst, x, y []float32){
		"add":                func(dst, x, y []float32) { combine(device.Add, dst, x, y) },
		"mul":                func(dst, x, y []float32) { combine(device.Mul, dst, x, y) },
		"scale":              func(dst, x, _ []float32) { multiplyRow(dst, x, 1.7) },
		"add scaled":         func(dst, x, y []float32) { addScaled(dst, x, y, 0.3) },
		"exp":                func(dst, x, _ []float32) { exponentials(dst, x, 0.9, 0.2) },
		"GELU by tanh":       func(dst, x, _ []float32) { apply(device.GELUTanh, dst, x) },
		"GELU by tanh slope": func(dst, x, y []float32) { derive(device.GELUTanh, dst, x, y) },
		"GELU":               func(dst, x, _ []float32) { apply(device.GELU, dst, x) },
		"GELU slope":         func(dst, x, y []float32) { derive(device.GELU, dst, x, y) },
		"ReLU":               func(dst, x, _ []float32) { apply(device.ReLU, dst, x) },
		"ReLU slope":         func(dst, x, y []float32) { derive(device.ReLU, dst, x, y) },
		"SiLU":               func(dst, x, _ []float32) { apply(device.SiLU, dst, x) },
		"SiLU slope":         func(dst, x, y []float32) { derive(device.SiLU, dst, x, y) },
		"adam": func(dst, x, y []float32) {
			u := device.Update{Rule: device.AdamW, LR: 0.1, WeightDecay: 0.2, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}
			j := &updateJob{UpdatePlan: device.UpdatePlan{Update: u}, size: 0.3, root: 1.2}
			m, v := append([]float32(nil), y...), make([]float32, len(x))
			copy(dst, x)
			adamRun(j, dst, y, m, v)
		},
	}
	for name, loop := range loops {
		t.Run(name, func(t *testing.T) {
			together, apart := make([]float32, n), make([]float32, n)
			loop(together, x, y)
			for i := range x {
				loop(apart[i:i+1], x[i:i+1], y[i:i+1])
			}
			for i := range x {
				a, b := together[i], apart[i]
				if math.Float32bits(a) != math.Float32bits(b) && (a == a || b == b) && !(fuses() && almost(a, b)) {
					t.Fatalf("of %v and %v: together %v, alone %v", x[i], y[i], a, b)
				}
			}
		})
	}
}

// fuses says whether the compiler makes one operation of a product and a sum,
// as it does for GOAMD64=v3. Then the plain loops round differently.
func fuses() bool {
	return multiplyAdd(1+0x1p-12, 1+0x1p-12, -1) != 0x1p-11
}

//go:noinline
func multiplyAdd(x, y, z float32) float32 { return x*y + z }

func almost(a, b float32) bool {
	return math.Abs(float64(a-b)) <= 1e-5*math.Abs(float64(a))
}

// vectorOperands returns ordinary numbers among which are all special ones.
func vectorOperands(n int) (x, y []float32) {
	r := rand.New(rand.NewPCG(3, 4))
	x, y = make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(20*r.NormFloat64()), float32(r.NormFloat64())
	}
	inf := float32(math.Inf(1))
	copy(x, []float32{0, inf, -inf, float32(math.NaN()), 88, 89, 97, 98.6, -87, -88, -96.8, -97.2, 1e30, -1e30, 1e-40})
	return x, y
}

func TestMaximumFindsNaNsAndInfinities(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, n := range []int{1, 7, 8, 9, 40, 41} {
		for at := range n {
			for _, special := range []float32{nan, inf, 3} {
				x := make([]float32, n)
				for i := range x {
					x[i] = -float32(i) - 1
				}
				x[at] = special
				if got := maximum(x); got != special && special == special || got == got && special != special {
					t.Fatalf("%v at %d of %d: got %v", special, at, n, got)
				}
			}
		}
	}
	if got := maximum([]float32{-inf, -inf}); got != -inf {
		t.Errorf("of −Inf only: got %v", got)
	}
}
