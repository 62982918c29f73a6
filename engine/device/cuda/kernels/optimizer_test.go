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

// stepped is what five steps of an optimizer write, on one device.
func (r *rig) stepped(c computer, p device.Array, gradients []device.Array, low device.DType, skip bool, step func(u device.Update, first bool)) {
	found := 0.0
	if skip {
		found = 1
	}
	u := device.Update{
		P: r.changed(p), LR: 0.01, WeightDecay: 0.1, Step: r.output(device.Float32, 1), FoundInf: r.put(device.Float32, found), Low: r.output(low, p.Len),
	}
	c.Fill(u.Step, 0)
	for i, g := range gradients {
		u.G = g
		c.AdvanceStep(u.Step, u.FoundInf)
		step(u, i == 0)
	}
}

func TestOptimizers(t *testing.T) {
	r := newRig(t)
	for name, types := range updateTypes {
		for _, n := range []int{1, 3, 257, 9001} {
			for _, skip := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d parameters, skipped %v", name, n, skip), func(t *testing.T) {
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
	run := func(step func(u device.Update, first bool)) { r.stepped(c, p, gradients, low, skip, step) }
	m, v, m2, v2, m3, m4, m5 := state(), state(), state(), state(), state(), state(), state()
	run(func(u device.Update, _ bool) { c.SGD(device.SGD{Update: u}) })
	run(func(u device.Update, first bool) {
		c.SGD(device.SGD{Update: u, M: m3, Momentum: 0.9, Dampening: 0.2, First: first})
	})
	run(func(u device.Update, first bool) {
		c.SGD(device.SGD{Update: u, M: m4, Momentum: 0.9, Nesterov: true, First: first})
	})
	run(func(u device.Update, _ bool) {
		c.Adam(device.Adam{Update: u, M: m, V: v, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8})
	})
	run(func(u device.Update, _ bool) {
		c.AdamW(device.Adam{Update: u, M: m2, V: v2, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8})
	})
	run(func(u device.Update, _ bool) { c.Lion(device.Lion{Update: u, M: m5, Beta1: 0.9, Beta2: 0.99}) })
}

func TestAdamW8(t *testing.T) {
	r := newRig(t)
	for _, n := range []int{1, 256, 257, 5000} {
		for _, gradient := range []device.DType{device.Float32, device.BFloat16} {
			for _, bad := range []float64{0, math.Inf(1), math.NaN()} {
				t.Run(fmt.Sprintf("%d parameters, gradients in %v, with %v", n, gradient, bad), func(t *testing.T) {
					p, blocks := r.normals(device.Float32, n), (n+device.QuantBlock-1)/device.QuantBlock
					var gradients []device.Array
					for range 4 {
						gradients = append(gradients, r.normals(gradient, n))
					}
					r.cpu.Fill(gradients[2].Slice(n/2, 1), bad)
					r.agree(t, 20, func(c computer) {
						u := device.Adam8{
							M: r.output(device.UInt8, n), V: r.output(device.UInt8, n), ScaleM: r.output(device.Float32, blocks),
							ScaleV: r.output(device.Float32, blocks), Beta1: 0.9, Beta2: 0.999, Eps: 1e-8,
						}
						c.Fill(u.M, device.ZeroM)
						c.Fill(u.V, device.ZeroV)
						c.Fill(u.ScaleM, 0)
						c.Fill(u.ScaleV, 0)
						r.stepped(c, p, gradients, device.BFloat16, false, func(update device.Update, _ bool) {
							u.Update = update
							c.AdamW8(u)
						})
					})
				})
			}
		}
	}
}
