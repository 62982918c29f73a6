package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"memtop/engine/device"
)

var updateTypes = map[string][3]device.DType{
	"float32":                      {device.Float32, device.Float32, device.BFloat16},
	"float32, gradients in bf16":   {device.Float32, device.BFloat16, device.BFloat16},
	"float32, gradients in fp16":   {device.Float32, device.Float16, device.Float16},
	"float64, for gradient checks": {device.Float64, device.Float64, device.Float32},
}

// stepped makes a step for every gradient, on one device; u has the rule, its
// state and its constants.
func (r *rig) stepped(c computer, p device.Array, gradients []device.Array, low device.DType, skip bool, u device.Update) {
	found := 0.0
	if skip {
		found = 1
	}
	u.P, u.LR, u.WeightDecay, u.Step = r.changed(p), 0.01, 0.1, r.output(device.Float32, 1)
	u.FoundInf, u.Low = r.put(device.Float32, found), r.output(low, p.Len)
	c.Fill(u.Step, 0)
	for i, g := range gradients {
		u.G, u.First = g, i == 0
		c.AdvanceStep(u.Step, u.FoundInf)
		c.Update(u.Plan())
	}
}

func TestOptimizers(t *testing.T) {
	r := newRig(t)
	for name, types := range updateTypes {
		for _, n := range []int{1, 3, 257, 9001} {
			for _, skip := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d parameters, skipped %v", name, n, skip), func(t *testing.T) {
					r.seed(t.Name())
					p := r.normals(types[0], n)
					var gradients []device.Array
					for range 5 {
						gradients = append(gradients, r.normals(types[1], n))
					}
					r.agree(t, 4, func(c computer) { r.everyRule(c, p, gradients, types[2], skip) })
				})
			}
		}
	}
}

func (r *rig) everyRule(c computer, p device.Array, gradients []device.Array, low device.DType, skip bool) {
	state := func() device.Array {
		a := r.output(p.DType, p.Len)
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
		by.M, by.V = state(), state()
		r.stepped(c, p, gradients, low, skip, by)
	}
}

func TestAdamW8(t *testing.T) {
	r := newRig(t)
	for _, n := range []int{1, 256, 257, 5000} {
		for _, gradient := range []device.DType{device.Float32, device.BFloat16} {
			for _, bad := range []float64{0, math.Inf(1), math.NaN()} {
				t.Run(fmt.Sprintf("%d parameters, gradients in %v, with %v", n, gradient, bad), func(t *testing.T) {
					r.seed(t.Name())
					p, blocks := r.normals(device.Float32, n), device.QuantBlocks(n)
					var gradients []device.Array
					for range 4 {
						gradients = append(gradients, r.normals(gradient, n))
					}
					r.cpu.Fill(gradients[2].Slice(n/2, 1), bad)
					r.agree(t, 20, func(c computer) {
						u := device.Update{
							Rule: device.AdamW8, M: r.output(device.UInt8, n), V: r.output(device.UInt8, n), ScaleM: r.output(device.Float32, blocks),
							ScaleV: r.output(device.Float32, blocks), Beta1: 0.9, Beta2: 0.999, Eps: 1e-8,
						}
						c.Fill(u.M, device.ZeroM)
						c.Fill(u.V, device.ZeroV)
						c.Fill(u.ScaleM, 0)
						c.Fill(u.ScaleV, 0)
						r.stepped(c, p, gradients, device.BFloat16, false, u)
					})
				})
			}
		}
	}
}
