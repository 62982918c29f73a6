package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

func TestReduce(t *testing.T) {
	r := newRig(t)
	for name, mix := range mixes {
		for _, size := range [][3]int{{1, 1, 1}, {1, 40001, 1}, {5, 33, 1}, {3, 1, 7}, {1, 1000, 33}, {4, 19, 65}, {1, 300, 1000}, {1, 40000, 5}} {
			if size[1] == 40000 && name != "float32" {
				continue // its types make no difference to how its ranges are joined
			}
			for kind := device.Sum; kind <= device.Max; kind++ {
				t.Run(fmt.Sprintf("%d, %s, %v", kind, name, size), func(t *testing.T) {
					r.seed(t.Name())
					src := r.normals(mix[1], size[0]*size[1]*size[2])
					r.agree(t, 1, func(c computer) {
						c.Reduce(kind, r.output(mix[0], size[0]*size[2]), src, size[0], size[1], size[2])
					})
				})
			}
		}
	}
}

func TestReduceMeetsWhatIsNoNumber(t *testing.T) {
	r := newRig(t)
	for kind := device.Sum; kind <= device.Max; kind++ {
		src := r.put(device.Float32, 1, math.NaN(), 3, math.Inf(-1), math.Inf(-1), 2, math.Inf(1), 5, -1)
		r.agree(t, 1, func(c computer) {
			c.Reduce(kind, r.output(device.Float32, 3), src, 3, 3, 1)
			c.Reduce(kind, r.output(device.Float32, 3), src, 1, 3, 3)
		})
	}
}

// list returns arrays of all types, more than one launch takes; one of them is
// longer than a block's part.
func (r *rig) list(kinds ...device.DType) []device.Array {
	list := []device.Array{r.normals(kinds[0], 40007)}
	for i := range 130 {
		list = append(list, r.normals(kinds[i%len(kinds)], 1+i*3%50))
	}
	return append(list, r.array(kinds[0], 0))
}

func TestNorm2(t *testing.T) {
	r := newRig(t)
	for name, kinds := range map[string][]device.DType{"float32": {device.Float32}, "all": floats} {
		t.Run(name, func(t *testing.T) {
			r.seedAskew(t.Name())
			list := r.list(kinds...)
			r.agree(t, 1, func(c computer) {
				c.Norm2(r.output(device.Float32, 1), list)
				c.Norm2(r.output(device.Float32, 1), nil)
				sum := r.output(device.Float64, 1)
				c.Fill(sum, 2)
				c.AddSquares(sum, list[:7])
				c.AddSquares(sum, list[7:])
				c.Root(r.output(device.Float32, 1), sum)
			})
		})
	}
}

func TestUnscaleFindsInfinities(t *testing.T) {
	r := newRig(t)
	tests := map[string]struct {
		bad   float64
		found float64
	}{
		"finite":                   {1, 0},
		"a NaN":                    {math.NaN(), 0},
		"an infinity":              {math.Inf(-1), 0},
		"finite, but found before": {1, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r.seedAskew(t.Name())
			list, scale, found := r.list(floats...), r.put(device.Float32, 4), r.put(device.Float32, test.found)
			r.cpu.Fill(list[7].Slice(2, 1), test.bad)
			r.agree(t, 1, func(c computer) {
				f, copies := r.changed(found), r.copies(list)
				c.Unscale(copies, scale, f)
			})
		})
	}
}

func (r *rig) copies(list []device.Array) []device.Array {
	var copies []device.Array
	for _, a := range list {
		copies = append(copies, r.changed(a))
	}
	return copies
}

func TestUpdatesClip(t *testing.T) {
	r := newRig(t)
	for _, norm := range []float64{0.5, 7, math.Inf(1), math.NaN()} {
		t.Run(fmt.Sprint(norm), func(t *testing.T) {
			r.seed(t.Name())
			p, g, norm := r.normals(device.Float32, 5001), r.normals(device.BFloat16, 5001), r.put(device.Float32, norm)
			r.agree(t, 1, func(c computer) {
				u := device.Update{Rule: device.SGD, LR: 0.1, Norm: norm, Limit: 1.5, List: []device.Parameter{{P: r.changed(p), G: g}}}
				c.Update(u.Plan())
			})
		})
	}
}

// TestNormsOfUnalignedArrays has no other way to move elements than one by one.
func TestNormsOfUnalignedArrays(t *testing.T) {
	r := newRig(t)
	r.askew = true
	list, scale, found := r.list(floats...), r.put(device.Float32, 4), r.put(device.Float32, 0)
	r.agree(t, 1, func(c computer) {
		c.Norm2(r.output(device.Float32, 1), list)
		c.Unscale(r.copies(list), scale, r.changed(found))
	})
}

func TestUpdateScale(t *testing.T) {
	r := newRig(t)
	for _, start := range [][3]float64{{1024, 0, 0}, {1024, 1, 0}, {1024, 1, 1}, {3e38, 1, 0}} {
		t.Run(fmt.Sprint(start), func(t *testing.T) {
			r.seed(t.Name())
			scale, tracker, found := r.put(device.Float32, start[0]), r.put(device.Float32, start[1]), r.put(device.Float32, start[2])
			r.agree(t, 0, func(c computer) {
				c.UpdateScale(r.changed(scale), r.changed(tracker), found, 2, 0.5, 2)
				c.UpdateScale(r.changed(scale), r.changed(tracker), device.Array{}, 2, 0.5, 2)
			})
		})
	}
}
