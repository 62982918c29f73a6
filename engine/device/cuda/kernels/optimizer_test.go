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
		{Rule: device.SGD, Momentum: 0.9, Dampening: 0.2},
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
