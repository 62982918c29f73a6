package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func TestProductKernelsAgreeWithFloat64Sums(t *testing.T) {
	for _, kernel := range Products() {
		for _, k := range []int{0, 1, 2, 3, 4, 5, 7, 64, 257} {
			for _, add := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s k=%d add=%v", kernel.Name, k, add), func(t *testing.T) {
					checkProduct(t, kernel, k, add)
				})
			}
		}
	}
}

func checkProduct(t *testing.T, kernel Product, k int, add bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(k)))
	stride := kernel.Cols + 3
	a, b := random(r, kernel.Rows*k+1), random(r, kernel.Cols*k+1)
	c := random(r, kernel.Rows*stride)
	before := append([]float32(nil), c...)
	kernel.Run(k, &a[0], &b[0], &c[0], stride, add)
	for i := range kernel.Rows {
		for j := range stride {
			want := float64(before[i*stride+j])
			if j < kernel.Cols {
				if !add {
					want = 0
				}
				for p := range k {
					want += float64(a[p*kernel.Rows+i]) * float64(b[p*kernel.Cols+j])
				}
			}
			if got := float64(c[i*stride+j]); math.Abs(got-want) > 1e-5*float64(k+1) {
				t.Fatalf("row %d column %d: got %v, want %v", i, j, got, want)
			}
		}
	}
}

func TestPairsAreMultipliedAsTheyAreDefined(t *testing.T) {
	kernel, ok := Pairs()
	if !ok {
		t.Skip("this processor does not multiply pairs of bfloat16 numbers")
	}
	r := rand.New(rand.NewPCG(4, 4))
	for _, words := range []int{0, 1, 3, 4, 5, 129} {
		a, b := make([]uint16, 2*(kernel.Rows*words+1)), make([]uint16, 2*(kernel.Cols*words+1))
		for _, list := range [][]uint16{a, b} {
			for i := range list {
				list[i] = device.Float32ToBFloat16(float32(r.NormFloat64()))
			}
		}
		join := func(halves []uint16) []float32 {
			low, high, words := make([]uint16, len(halves)/2), make([]uint16, len(halves)/2), make([]float32, len(halves)/2)
			for i := range low {
				low[i], high[i] = halves[2*i], halves[2*i+1]
			}
			Pair(words, low, high)
			return words
		}
		c := make([]float32, kernel.Rows*kernel.Cols)
		kernel.Run(words, &join(a)[0], &join(b)[0], &c[0], kernel.Cols, false)
		value := func(halves []uint16, at int) float64 { return float64(device.BFloat16ToFloat32(halves[at])) }
		for i := range kernel.Rows {
			for j := range kernel.Cols {
				want := 0.0
				for p := range 2 * words {
					want += value(a, 2*(p/2*kernel.Rows+i)+p%2) * value(b, 2*(p/2*kernel.Cols+j)+p%2)
				}
				if got := float64(c[i*kernel.Cols+j]); math.Abs(got-want) > 1e-5*float64(2*words+1) {
					t.Fatalf("%d words, row %d column %d: got %v, want %v", words, i, j, got, want)
				}
			}
		}
	}
}

func TestInterleaveTransposesEveryShape(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for rows := 1; rows <= 32; rows++ {
		for _, k := range []int{0, 1, 3, 4, 7, 8, 9, 16, 23} {
			dstStride, srcStride := rows+rows%3, k+2
			src, dst := random(r, rows*srcStride+1), make([]float32, k*dstStride+1)
			Interleave(dst, src, rows, k, dstStride, srcStride)
			for i := range rows {
				for p := range k {
					if got, want := dst[p*dstStride+i], src[i*srcStride+p]; got != want {
						t.Fatalf("%d rows, k %d: row %d column %d: got %v, want %v", rows, k, i, p, got, want)
					}
				}
			}
		}
	}
}

func TestConversionsAgreeWithTheScalarOnesOnEveryPattern(t *testing.T) {
	patterns := make([]uint16, 1<<16)
	for i := range patterns {
		patterns[i] = uint16(i)
	}
	values := make([]float32, len(patterns))
	back := make([]uint16, len(patterns))
	tests := map[string]struct {
		widen  func([]float32, []uint16)
		narrow func([]uint16, []float32)
		one    func(uint16) float32
		round  func(float32) uint16
	}{
		"bfloat16": {WidenBFloat16, NarrowBFloat16, device.BFloat16ToFloat32, device.Float32ToBFloat16},
		"float16":  {WidenFloat16, NarrowFloat16, device.Float16ToFloat32, device.Float32ToFloat16},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.widen(values, patterns)
			for i, got := range values {
				if want := test.one(uint16(i)); math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("widen %#04x: got %#08x, want %#08x", i, math.Float32bits(got), math.Float32bits(want))
				}
			}
			// Every upper half with lower halves around the rounding points.
			for _, low := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff} {
				for i := range values {
					values[i] = math.Float32frombits(uint32(i)<<16 | low)
				}
				test.narrow(back, values)
				for i, got := range back {
					if want := test.round(values[i]); got != want {
						t.Fatalf("narrow %#08x: got %#04x, want %#04x", math.Float32bits(values[i]), got, want)
					}
				}
			}
		})
	}
}
