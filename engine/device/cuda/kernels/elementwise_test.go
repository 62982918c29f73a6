package kernels_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

func TestFill(t *testing.T) {
	r := newRig(t)
	for kind := device.Float32; kind <= device.Int64; kind++ {
		for _, value := range []float64{0, 1.25, -3, 300, 1e20, math.NaN()} {
			t.Run(fmt.Sprintf("%v, %v", kind, value), func(t *testing.T) {
				r.seed(t.Name())
				r.agree(t, 0, func(c computer) {
					for _, n := range lengths {
						c.Fill(r.output(kind, n), value)
					}
				})
			})
		}
	}
}

func TestCast(t *testing.T) {
	r := newRig(t)
	special := []float64{0, math.Copysign(0, -1), 1, -1.5, 2.5, 127.9, -128.9, 256, 65504, 65520, 1e6, -1e6, 1e-5, 6e-8, 1e-8, 3e9, -3e9, 1e19, -1e19, 1e39, math.Inf(1), math.Inf(-1), math.NaN(), 1.00390625, 1.01171875, 1 + 0x1p-9 + 0x1p-30}
	for from := device.Float32; from <= device.Int64; from++ {
		src := append([]device.Array{r.put(from, special...)}, r.normals(from, 1023))
		r.start = r.next // these stay
		for to := device.Float32; to <= device.Int64; to++ {
			t.Run(fmt.Sprintf("%v to %v", from, to), func(t *testing.T) {
				r.seed(t.Name())
				r.agree(t, 0, func(c computer) {
					for _, s := range src {
						c.Cast(r.output(to, s.Len), s)
						c.Cast(r.output(to, s.Len-1), s.Slice(1, s.Len-1)) // not aligned
					}
				})
			})
		}
	}
}

func TestUnary(t *testing.T) {
	r := newRig(t)
	special := []float64{0, 0.001, -0.3, 1, -1, 2.7, -2.7, 4, -4, 9, -9, 30, -30, 88, -87, 88.7, -88.7, 88.75, -88.75, 89.5, -103, 100, -110, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, x := range []float64{100, -100, 300, -300} { // at each place of four
		special = append(special, x, x, x, x)
	}
	for name, mix := range mixes {
		r.seed(name)
		x := []device.Array{r.put(mix[1], special...), r.normals(mix[1], 4099)}
		r.start = r.next // these stay
		for _, op := range device.UnaryOps() {
			t.Run(fmt.Sprintf("%v, %s", op, name), func(t *testing.T) {
				r.seedAskew(t.Name())
				dy := r.normals(mix[2], 4099)
				r.agree(t, 4, func(c computer) {
					for _, x := range x {
						c.Unary(op, r.output(mix[0], x.Len), x)
						c.UnaryBackward(op, r.output(mix[0], x.Len), x, dy.Slice(0, x.Len))
					}
				})
			})
		}
	}
}

func TestBinaryRepeatsItsSecondOperand(t *testing.T) {
	r := newRig(t)
	for name, mix := range mixes {
		for op := device.Add; op <= device.Div; op++ {
			for _, size := range [][2]int{{1, 1}, {4099, 4099}, {4096, 1}, {777 * 3, 777}, {64 * 16, 16}, {4 * 5, 5}} {
				t.Run(fmt.Sprintf("%d, %s, %d and %d", op, name, size[0], size[1]), func(t *testing.T) {
					r.seed(t.Name())
					a, b := r.normals(mix[1], size[0]), r.normals(mix[2], size[1])
					r.agree(t, 1, func(c computer) { c.Binary(op, r.output(mix[0], size[0]), a, b) })
				})
			}
		}
	}
}

func TestScaling(t *testing.T) {
	r := newRig(t)
	for name, mix := range mixes {
		for _, n := range lengths {
			t.Run(fmt.Sprintf("%s, %d", name, n), func(t *testing.T) {
				r.seed(t.Name())
				a, b, factor := r.normals(mix[1], n), r.normals(mix[2], n), r.put(device.Float32, 0.37)
				r.agree(t, 1, func(c computer) {
					c.AddScaled(r.output(mix[0], n), a, b, -0.7)
					c.Scale(r.output(mix[0], n), a, 1.3)
					c.ScaleBy(r.output(mix[0], n), b, factor)
					sum := r.changed(a)
					c.AddScaled(sum, sum, b, 0.5) // in place
				})
			})
		}
	}
}

func TestCopyStrided(t *testing.T) {
	tests := map[string]struct {
		shape, dst, src []int
	}{
		"nothing":                        {[]int{3, 0, 2}, []int{2, 2, 1}, []int{2, 2, 1}},
		"one element":                    {nil, nil, nil},
		"contiguous":                     {[]int{4, 5, 16}, []int{80, 16, 1}, []int{80, 16, 1}},
		"a transpose":                    {[]int{33, 65}, []int{65, 1}, []int{1, 33}},
		"heads brought before rows":      {[]int{2, 3, 7, 8}, []int{168, 56, 8, 1}, []int{168, 8, 24, 1}},
		"a row repeated":                 {[]int{6, 10}, []int{10, 1}, []int{0, 1}},
		"a slice written into":           {[]int{5, 7}, []int{20, 1}, []int{7, 1}},
		"eight dimensions, some of one":  {[]int{2, 1, 3, 2, 1, 2, 2, 3}, []int{72, 72, 24, 12, 12, 6, 3, 1}, []int{1, 1, 48, 24, 24, 12, 6, 2}},
		"every second of both":           {[]int{50}, []int{2}, []int{2}},
		"rows of a length that is a bit": {[]int{9, 6}, []int{6, 1}, []int{10, 1}},
	}
	r := newRig(t)
	for name, test := range tests {
		for kind := device.Float32; kind <= device.Int64; kind++ {
			t.Run(fmt.Sprintf("%s, %v", name, kind), func(t *testing.T) {
				r.seed(t.Name())
				src := r.normals(kind, 4099)
				r.agree(t, 0, func(c computer) {
					c.CopyStrided(device.Strided{Base: r.output(kind, 4099), Strides: test.dst}, device.Strided{Base: src, Strides: test.src}, test.shape)
				})
			})
		}
	}
}

func (r *rig) ids(kind device.DType, n, rows int) device.Array {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(r.rand.IntN(rows))
	}
	return r.put(kind, values...)
}

func TestLookups(t *testing.T) {
	r := newRig(t)
	for name, mix := range mixes {
		for _, index := range []device.DType{device.Int32, device.Int64} {
			for _, size := range [][3]int{{1, 1, 1}, {600, 11, 5}, {17, 300, 64}, {40, 7, 301}} {
				t.Run(fmt.Sprintf("%s, %v, %v", name, index, size), func(t *testing.T) {
					r.seed(t.Name())
					n, rows, cols := size[0], size[1], size[2]
					table, src, ids := r.normals(mix[0], rows*cols), r.normals(mix[1], n*cols), r.ids(index, n, rows)
					r.agree(t, 0, func(c computer) {
						c.Gather(r.output(mix[0], n*cols), table, ids, rows, cols)
						c.ScatterAdd(r.changed(table), src, ids, rows, cols)
					})
				})
			}
		}
	}
}

// Equal ids lie in one tile and in several, next to each other and far apart, and the
// rows are more than one round takes.
func TestScatterOfManyPlaces(t *testing.T) {
	r := newRig(t)
	for name, test := range map[string]struct{ places, rows int }{
		"one id":        {2500, 1},
		"few ids":       {3000, 3},
		"more ids":      {2100, 500},
		"whole tiles":   {2048, 40},
		"hardly a pair": {1500, 100_000},
	} {
		for _, round := range []int64{1 << 20, 37_001, 171} {
			t.Run(fmt.Sprintf("%s, %d at a time", name, round), func(t *testing.T) {
				if int64(test.rows) > 20*round {
					t.Skip("too many rounds")
				}
				r.seed(t.Name())
				r.kernels.SetScatterIDs(round)
				const cols = 3
				table, src, ids := r.normals(device.Float32, test.rows*cols), r.normals(device.BFloat16, test.places*cols), r.ids(device.Int32, test.places, test.rows)
				r.agree(t, 0, func(c computer) { c.ScatterAdd(r.changed(table), src, ids, test.rows, cols) })
			})
		}
	}
}

func TestWrongIndexesAreReported(t *testing.T) {
	tests := map[string]struct {
		do   func(r *rig)
		want string
	}{
		"an id beyond the table": {func(r *rig) {
			r.kernels.Gather(r.output(device.Float32, 6), r.normals(device.Float32, 8), r.put(device.Int64, 1, 4, 0), 4, 2)
		}, "gather: id 4 at position 1 is outside of a table of 4 rows"},
		"a negative id": {func(r *rig) {
			r.kernels.ScatterAdd(r.normals(device.Float32, 8), r.normals(device.Float32, 6), r.put(device.Int32, 1, 0, -1), 4, 2)
		}, "scatter add: id -1 at position 2 is outside of a table of 4 rows"},
		"a class that is none": {func(r *rig) {
			r.kernels.CrossEntropy(device.CrossEntropy{
				Rows: 2, Classes: 3, Logits: r.normals(device.Float32, 6), Targets: r.put(device.Int64, 2, 3), IgnoreIndex: -100,
				LSE: r.output(device.Float32, 2), Loss: r.output(device.Float32, 1), Count: r.output(device.Float32, 1),
			})
		}, "cross entropy: target 3 of row 1 is none of 3 classes"},
		"nothing wrong": {func(*rig) {}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			test.do(r)
			fatal.If(t, r.machine.Err())
			got := ""
			if err := kernels.Failure(r.bytes(r.failure)); err != nil {
				got = strings.TrimPrefix(err.Error(), "kernels: ")
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestRandom(t *testing.T) {
	r := newRig(t)
	for name, mix := range mixes {
		for _, n := range lengths {
			t.Run(fmt.Sprintf("%s, %d", name, n), func(t *testing.T) {
				r.seed(t.Name())
				x, seed := r.normals(mix[1], n), device.Seed{Seed: 0x0123456789abcdef, Offset: 1<<32 - 2}
				r.agree(t, 1, func(c computer) {
					mask := r.output(device.UInt8, n)
					c.Dropout(r.output(mix[0], n), x, mask, 0.3, seed)
					c.Dropout(r.output(mix[0], n), x, device.Array{}, 0.9, seed)
					c.DropoutBackward(r.output(mix[0], n), x, mask, 0.3)
					c.Uniform(r.output(mix[0], n), -2, 3, seed)
					c.Normal(r.output(mix[0], n), 0.5, 2, seed)
				})
			})
		}
	}
}

// Numbers must be those of every other device, not only near them.
func TestRandomNumbersAreTheSameBits(t *testing.T) {
	r := newRig(t)
	r.agree(t, 0, func(c computer) {
		c.Uniform(r.output(device.Float32, 40001), -1, 1, device.Seed{Seed: 42})
		c.Normal(r.output(device.Float32, 40001), 0, 0.02, device.Seed{Seed: 42})
		c.Normal(r.output(device.BFloat16, 40001), 0, 1, device.Seed{Seed: 43})
	})
}
