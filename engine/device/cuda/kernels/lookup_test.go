package kernels_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

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
