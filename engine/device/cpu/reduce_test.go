package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

func TestReductionsOfTheMiddleDimension(t *testing.T) {
	kinds := map[device.Reduction]func(group []float64) float64{
		device.Sum:  func(g []float64) float64 { return weighted(g, ones(len(g))) },
		device.Mean: func(g []float64) float64 { return weighted(g, ones(len(g))) / float64(len(g)) },
		device.Max:  slices.Max[[]float64],
	}
	for kind, f := range kinds {
		for _, d := range floats {
			for _, size := range [][3]int{{1, 1, 1}, {1, 200001, 1}, {300, 7, 1}, {1, 5, 300}, {1, 3000, 40}, {3, 11, 130}} {
				t.Run(fmt.Sprintf("reduction %d, %v, %v", kind, d, size), func(t *testing.T) {
					outer, n, inner := size[0], size[1], size[2]
					r := newRig(t, 2)
					src, dst := r.normals(d, outer*n*inner), r.array(d, outer*inner)
					r.Reduce(kind, dst, src, outer, n, inner)
					x := r.get(src)
					want := make([]float64, outer*inner)
					group := make([]float64, n)
					for i := range want {
						for k := range group {
							group[k] = x[(i/inner*n+k)*inner+i%inner]
						}
						want[i] = f(group)
					}
					near(t, "result", r.get(dst), want, tolerance(d))
				})
			}
		}
	}
}

func ones(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

func TestNorm2OverSeveralArraysAndClipping(t *testing.T) {
	r := newRig(t, 2)
	list := []device.Array{r.normals(device.Float32, 70000), r.normals(device.BFloat16, 3), r.normals(device.Float32, 1)}
	squares := 0.0
	var before [][]float64
	for _, a := range list {
		x := r.get(a)
		before = append(before, x)
		squares += weighted(x, x)
	}
	norm := r.array(device.Float32, 1)
	r.Norm2(norm, list)
	near(t, "norm", r.get(norm), []float64{math.Sqrt(squares)}, 1e-6)
	for _, limit := range []float64{1e6, 2} {
		factor := min(1, limit/(math.Sqrt(squares)+1e-6))
		for i, a := range list {
			kind := device.ComputeType(a.DType)
			p := r.array(kind, a.Len)
			r.Fill(p, 0)
			r.Update(device.Update{LR: 1, Norm: norm, Limit: limit, List: []device.Parameter{{P: p, G: a}}}.Plan())
			want := make([]float64, a.Len)
			for k := range want {
				want[k] = -factor * before[i][k]
			}
			near(t, "clipped", r.get(p), want, 1e-6)
		}
	}
	r.Norm2(norm, nil)
	near(t, "norm of nothing", r.get(norm), []float64{0}, 0)
	r.Fill(norm, math.NaN())
	p := r.put(device.Float32, 1)
	r.Update(device.Update{LR: 1, Norm: norm, Limit: 2, List: []device.Parameter{{P: p, G: r.put(device.Float32, 1)}}}.Plan())
	if got := r.get(p)[0]; !math.IsNaN(got) {
		t.Errorf("a gradient clipped by a norm that is NaN gives %v, want NaN as in PyTorch", got)
	}
}

func TestCopyStrided(t *testing.T) {
	tests := map[string]struct {
		shape, dst, src []int
	}{
		"a number":             {nil, nil, nil},
		"contiguous":           {[]int{3, 4}, []int{4, 1}, []int{4, 1}},
		"transposed":           {[]int{70, 90}, []int{90, 1}, []int{1, 70}},
		"permuted":             {[]int{2, 3, 4, 5}, []int{60, 20, 5, 1}, []int{5, 40, 10, 1}},
		"broadcast":            {[]int{3, 4}, []int{4, 1}, []int{0, 1}},
		"into a slice":         {[]int{5, 3}, []int{9, 1}, []int{3, 1}},
		"every other element":  {[]int{5, 3}, []int{3, 1}, []int{12, 2}},
		"nothing":              {[]int{5, 0}, []int{1, 1}, []int{1, 1}},
		"dimensions of one":    {[]int{1, 4, 1, 6}, []int{99, 6, 99, 1}, []int{0, 1, 7, 4}},
		"eight dimensions":     {[]int{2, 2, 2, 2, 2, 2, 2, 2}, []int{128, 64, 32, 16, 8, 4, 2, 1}, []int{1, 2, 4, 8, 16, 32, 64, 128}},
		"rows longer than one": {[]int{3, 50000}, []int{50000, 1}, []int{50001, 1}},
	}
	for name, test := range tests {
		for _, kind := range []device.DType{device.UInt8, device.BFloat16, device.Float32, device.Int64} {
			t.Run(fmt.Sprintf("%s, %v", name, kind), func(t *testing.T) {
				r := newRig(t, 2)
				sizeOf := func(strides []int) int {
					size := 1
					for i, n := range test.shape {
						size += max(0, n-1) * strides[i]
					}
					return size
				}
				dst, src := r.array(kind, sizeOf(test.dst)), r.array(kind, sizeOf(test.src))
				values := make([]float64, src.Len)
				for i := range values {
					values[i] = float64(i % 100)
				}
				r.set(src, values)
				want := r.get(dst)
				eachIndex(test.shape, func(index []int) {
					d, s := 0, 0
					for i, k := range index {
						d, s = d+k*test.dst[i], s+k*test.src[i]
					}
					want[d] = values[s]
				})
				r.CopyStrided(device.Strided{Base: dst, Strides: test.dst}, device.Strided{Base: src, Strides: test.src}, test.shape)
				near(t, "copy", r.get(dst), want, 0)
			})
		}
	}
}

func eachIndex(shape []int, do func(index []int)) {
	total := 1
	for _, n := range shape {
		total *= n
	}
	index := make([]int, len(shape))
	for i := range total {
		for d := len(shape) - 1; d >= 0; d-- {
			index[d] = i % shape[d]
			i /= shape[d]
		}
		do(index)
	}
}
