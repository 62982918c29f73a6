package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

var updateTypes = map[string][3]device.DType{
	"float32":                    {device.Float32, device.Float32, device.BFloat16},
	"float32 alone":              {device.Float32, device.Float32, device.Float32},
	"float32, gradients in bf16": {device.Float32, device.BFloat16, device.BFloat16},
	"float32, gradients in fp16": {device.Float32, device.Float16, device.Float16},
}

// stepped makes a step for every gradient of all parameters, on one device; u has
// the rule and its constants, state makes the state of so many elements.
func (r *rig) stepped(c computer, list, gradients []device.Array, low device.DType, skip bool, u device.Update, state func(n int) device.Parameter) {
	found := 0.0
	if skip {
		found = 1
	}
	u.LR, u.WeightDecay, u.Step, u.FoundInf = 0.01, 0.1, r.output(device.Float32, 1), r.put(device.Float32, found)
	for i, p := range list {
		x := state(p.Len)
		x.P, x.G = r.changed(p), device.Array{DType: gradients[0].DType}
		if i%2 == 0 {
			x.Low = r.output(low, p.Len)
		}
		u.List = append(u.List, x)
	}
	c.Fill(u.Step, 0)
	for i, g := range gradients {
		for k := range u.List {
			u.List[k].G, u.List[k].First = g.Slice(0, u.List[k].P.Len), i == 0
		}
		c.AdvanceStep(u.Step, u.FoundInf)
		c.Update(u.Plan())
	}
}

func TestOptimizers(t *testing.T) {
	r := newRig(t)
	for name, types := range updateTypes {
		for _, n := range []int{1, 3, 257, 258, 9001} {
			for _, skip := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d parameters, skipped %v", name, n, skip), func(t *testing.T) {
					r.seed(t.Name())
					r.askew = n == 258
					p := r.normals(types[0], n)
					var gradients []device.Array
					for range 5 {
						gradients = append(gradients, r.normals(types[1], n))
					}
					r.agree(t, 4, func(c computer) { r.everyRule(c, []device.Array{p}, gradients, types[2], skip) })
				})
			}
		}
	}
}

func (r *rig) everyRule(c computer, list, gradients []device.Array, low device.DType, skip bool) {
	zeros := func(n int) device.Array {
		a := r.output(list[0].DType, n)
		c.Fill(a, 0)
		return a
	}
	tries := []device.Update{
		{Rule: device.SGD, Momentum: 0.9},
		{Rule: device.SGD, Momentum: 0.9, Nesterov: true},
	}
	for _, rule := range device.Rules() {
		if !rule.InBytes() {
			tries = append(tries, device.Update{Rule: rule, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8})
		}
	}
	for _, by := range tries {
		r.stepped(c, list, gradients, low, skip, by, func(n int) device.Parameter { return device.Parameter{M: zeros(n), V: zeros(n)} })
	}
}

// A list is longer than one launch takes, and some of it has no elements.
func TestOptimizersOfManyParameters(t *testing.T) {
	r := newRig(t)
	var list, gradients []device.Array
	for i := range 130 {
		n := []int{0, 1, 257, 4096, 4097, 9001}[i%6]
		if i >= 6 && i < 124 { // large ones are at the list's ends, so in two launches
			n = min(n, 300)
		}
		list = append(list, r.normals(device.Float32, n))
	}
	for range 2 {
		gradients = append(gradients, r.normals(device.BFloat16, 9001))
	}
	r.agree(t, 4, func(c computer) { r.everyRule(c, list, gradients, device.BFloat16, false) })
	r.agree(t, 20, func(c computer) { r.steppedInBytes(c, list, gradients) })
}

// steppedInBytes is stepped by AdamW8.
func (r *rig) steppedInBytes(c computer, list, gradients []device.Array) {
	filled := func(kind device.DType, n int, value float64) device.Array {
		a := r.output(kind, n)
		c.Fill(a, value)
		return a
	}
	u := device.Update{Rule: device.AdamW8, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Norm: r.put(device.Float32, 7), Limit: 5}
	r.stepped(c, list, gradients, device.BFloat16, false, u, func(n int) device.Parameter {
		blocks := device.QuantBlocks(n)
		return device.Parameter{
			M: filled(device.UInt8, n, device.ZeroM), V: filled(device.UInt8, n, device.ZeroV),
			ScaleM: filled(device.Float32, blocks, 0), ScaleV: filled(device.Float32, blocks, 0),
		}
	})
}

func TestAdamW8(t *testing.T) {
	r := newRig(t)
	for _, n := range []int{1, 256, 257, 5000} {
		for _, gradient := range []device.DType{device.Float32, device.BFloat16} {
			for _, bad := range []float64{0, math.Inf(1), math.NaN()} {
				t.Run(fmt.Sprintf("%d parameters, gradients in %v, with %v", n, gradient, bad), func(t *testing.T) {
					r.seed(t.Name())
					p := r.normals(device.Float32, n)
					var gradients []device.Array
					for range 4 {
						gradients = append(gradients, r.normals(gradient, n))
					}
					r.cpu.Fill(gradients[2].Slice(n/2, 1), bad)
					r.agree(t, 20, func(c computer) { r.steppedInBytes(c, []device.Array{p}, gradients) })
				})
			}
		}
	}
}

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
