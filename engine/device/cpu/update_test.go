package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

// trial is a parameter with a gradient for every step.
type trial struct {
	r         *rig
	update    device.Update    // its constants
	operands  device.Parameter // without the rule's state
	list      [1]device.Parameter
	p         []float64 // the reference's parameters
	gradients [][]float64
}

const trialSteps = 5

func newTrial(r *rig, kind, gradient device.DType, n int) *trial {
	x := &trial{
		r:        r,
		operands: device.Parameter{P: r.normals(kind, n), G: r.array(gradient, n), Low: r.array(device.BFloat16, n)},
		update:   device.Update{LR: 0.01, WeightDecay: 0.1, Step: r.put(device.Float32, 0), FoundInf: r.put(device.Float32, 0)},
	}
	x.p = r.get(x.operands.P)
	for range trialSteps {
		x.gradients = append(x.gradients, r.get(r.normals(gradient, n)))
	}
	return x
}

// run takes all steps on the device, and compares the end with the reference,
// which is called for every element and step.
func (x *trial) run(t *testing.T, tolerance float64, step func(i int), reference func(step, i int, p, g float64) float64) {
	t.Helper()
	for s, g := range x.gradients {
		x.r.set(x.operands.G, g)
		x.r.AdvanceStep(x.update.Step, x.update.FoundInf)
		step(s)
		for i := range x.p {
			x.p[i] = reference(s, i, x.p[i], g[i])
		}
	}
	near(t, "parameters", x.r.get(x.operands.P), x.p, tolerance)
	near(t, "low precision copy", x.r.get(x.operands.Low), x.r.get(x.operands.P), 0x1p-8)
}

// by takes a step by u's rule and constants, with state.
func (x *trial) by(u device.Update, state device.Parameter) {
	own := x.operands
	state.P, state.G, state.Low = own.P, own.G, own.Low
	x.list[0] = state
	u.LR, u.WeightDecay, u.Step, u.FoundInf, u.List = x.update.LR, x.update.WeightDecay, x.update.Step, x.update.FoundInf, x.list[:]
	x.r.Update(u.Plan())
}

// fewOff allows one parameter in a thousand to be off by more than tolerance.
func (x *trial) fewOff(t *testing.T, tolerance float64) {
	t.Helper()
	off := 0
	for i, got := range x.r.get(x.operands.P) {
		if math.Abs(got-x.p[i]) > tolerance*(1+math.Abs(x.p[i])) {
			off++
		}
	}
	if off*1000 > len(x.p) {
		t.Errorf("%d of %d parameters are off", off, len(x.p))
	}
}

func (x *trial) state() device.Array {
	a := x.r.array(x.operands.P.DType, x.operands.P.Len)
	x.r.Fill(a, 0)
	return a
}

// adamStep is the definition, with the numbers of these tests.
func adamStep(s int, m, v *float64, g float64) float64 {
	*m = 0.9**m + 0.1*g
	*v = 0.95**v + 0.05*g*g
	t := float64(s + 1)
	return 0.01 * (*m / (1 - math.Pow(0.9, t))) / (math.Sqrt(*v/(1-math.Pow(0.95, t))) + 1e-8)
}

func TestAdamW8FollowsAdamWWithRoundedMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	for _, n := range []int{1, 256, 300, partSize + 1} {
		t.Run(fmt.Sprintf("%d parameters", n), func(t *testing.T) {
			r := newRig(t, 2)
			x := newTrial(r, device.Float32, device.Float32, n)
			blocks := device.QuantBlocks(n)
			u, state := device.Update{Rule: device.AdamW8, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8}, device.Parameter{
				M: r.array(device.UInt8, n), V: r.array(device.UInt8, n), ScaleM: r.array(device.Float32, blocks), ScaleV: r.array(device.Float32, blocks),
			}
			r.Fill(state.M, device.ZeroM)
			r.Fill(state.V, device.ZeroV)
			r.Fill(state.ScaleM, 0)
			r.Fill(state.ScaleV, 0)
			m, v := make([]float64, n), make([]float64, n)
			x.run(t, 2e-2, func(int) { x.by(u, state) }, func(s, i int, p, g float64) float64 {
				p -= 0.01*0.1*p + adamStep(s, &m[i], &v[i], g)
				if i == n-1 {
					roundBlocks(m, true)
					roundBlocks(v, false)
				}
				return p
			})
			// float32 puts a number that lies between two codes now and then
			// into the other one.
			x.fewOff(t, 1e-5)
		})
	}
}

// roundBlocks replaces every number by the nearest of its block's map, found by
// looking at all of them.
func roundBlocks(x []float64, signed bool) {
	values := device.QuantMap(signed)
	for from := 0; from < len(x); from += device.QuantBlock {
		block := x[from:min(len(x), from+device.QuantBlock)]
		scale := 0.0
		for _, v := range block {
			scale = math.Max(scale, math.Abs(v))
		}
		for i, v := range block {
			best := values[0]
			for _, candidate := range values {
				if math.Abs(v/scale-float64(candidate)) < math.Abs(v/scale-float64(best)) {
					best = candidate
				}
			}
			block[i] = float64(best) * scale
		}
	}
}

func TestQuantizerFindsTheNearestValue(t *testing.T) {
	for _, signed := range []bool{true, false} {
		q := newQuantizer(signed)
		numbers := []float32{0, 1, -1, 1e-30, -1e-30}
		for x := float32(-1); x <= 1; x += 0.00013 {
			numbers = append(numbers, x, x*x*x, x*x*x*x*x*x*x)
		}
		for _, x := range numbers {
			got := q.values[q.nearest(x)]
			for _, v := range q.values[:256] {
				if math.Abs(float64(x-v)) < math.Abs(float64(x-got)) {
					t.Fatalf("signed %v: %v became %v, but %v is nearer", signed, x, got, v)
				}
			}
		}
		for code, v := range q.values[:256] {
			if got := q.nearest(v); int(got) != code {
				t.Errorf("signed %v: value %d became code %d", signed, code, got)
			}
		}
	}
}

// A list gives the bits of its parameters one by one, whatever the number of workers.
func TestAListIsUpdatedAsItsParametersAre(t *testing.T) {
	sizes := []int{0, 1, 300, partSize, partSize + 1, 3*partSize + 7, 5}
	step := func(threads int, rule device.Rule, together bool) (bits [][]float64) {
		r := newRig(t, threads)
		u := device.Update{Rule: rule, LR: 0.01, WeightDecay: 0.1, Momentum: 0.9, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Step: r.put(device.Float32, 1)}
		for _, n := range sizes {
			x := device.Parameter{P: r.normals(device.Float32, n), G: r.normals(device.BFloat16, n), Low: r.array(device.Float16, n)}
			for _, a := range []*device.Array{&x.M, &x.V} {
				if *a = r.array(device.Float32, n); rule.InBytes() {
					*a = r.array(device.UInt8, n)
				}
				r.Fill(*a, 0)
			}
			x.ScaleM, x.ScaleV = r.array(device.Float32, device.QuantBlocks(n)), r.array(device.Float32, device.QuantBlocks(n))
			r.Fill(x.ScaleM, 0)
			r.Fill(x.ScaleV, 0)
			u.List = append(u.List, x)
		}
		if list := u.List; together {
			r.Update(u.Plan())
		} else {
			for i := range list {
				u.List = list[i : i+1]
				r.Update(u.Plan())
			}
			u.List = list
		}
		for _, x := range u.List {
			for _, a := range []device.Array{x.P, x.M, x.V, x.Low} {
				bits = append(bits, r.get(a))
			}
		}
		return bits
	}
	for _, rule := range device.Rules() {
		want := step(1, rule, false)
		for _, threads := range []int{1, 2, 5} {
			for i, got := range step(threads, rule, true) {
				if !slices.Equal(got, want[i]) {
					t.Errorf("%v with %d workers: array %d of the list is not that of a step alone", rule, threads, i)
				}
			}
		}
	}
}

func TestAFoundInfinitySkipsTheWholeStep(t *testing.T) {
	r := newRig(t, 2)
	x := newTrial(r, device.Float32, device.Float32, 1000)
	r.set(x.operands.G, x.gradients[0])
	r.set(x.update.FoundInf, []float64{1})
	m, v := x.state(), x.state()
	r.AdvanceStep(x.update.Step, x.update.FoundInf)
	for _, rule := range device.Rules() {
		if !rule.InBytes() {
			x.by(device.Update{Rule: rule, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}, device.Parameter{M: m, V: v})
		}
	}
	near(t, "parameters", r.get(x.operands.P), x.p, 0)
	near(t, "moment", r.get(m), make([]float64, 1000), 0)
	near(t, "step", r.get(x.update.Step), []float64{0}, 0)
}

func TestUnscaleDividesAndFindsWhatIsNotFinite(t *testing.T) {
	tests := map[string]struct {
		bad  float64
		want float64
	}{
		"all finite":        {1, 0},
		"an infinity":       {math.Inf(1), 1},
		"a negative one":    {math.Inf(-1), 1},
		"something no more": {math.NaN(), 1},
	}
	for name, test := range tests {
		for _, kind := range floats {
			t.Run(fmt.Sprintf("%s, %v", name, kind), func(t *testing.T) {
				r := newRig(t, 2)
				a, b := r.normals(kind, 40001), r.normals(kind, 3)
				x := r.get(a)
				r.set(b.Slice(2, 1), []float64{test.bad})
				found := r.put(device.Float32, 0)
				r.Unscale([]device.Array{a, b}, r.put(device.Float32, 4), found)
				near(t, "found inf", r.get(found), []float64{test.want}, 0)
				for i := range x {
					x[i] /= 4
				}
				near(t, "gradient", r.get(a), x, tolerance(kind))
			})
		}
	}
}

func TestLossScaleGrowsAndBacksOff(t *testing.T) {
	r := newRig(t, 1)
	scale, tracker, found := r.put(device.Float32, 1024), r.put(device.Float32, 0), r.put(device.Float32, 0)
	steps := []struct{ found, scale, tracker float64 }{
		{0, 1024, 1}, {0, 2048, 0}, {0, 2048, 1}, {1, 1024, 0}, {1, 512, 0}, {0, 512, 1}, {0, 1024, 0},
	}
	for i, s := range steps {
		r.set(found, []float64{s.found})
		r.UpdateScale(scale, tracker, found, 2, 0.5, 2)
		if got := [2]float64{r.get(scale)[0], r.get(tracker)[0]}; got != [2]float64{s.scale, s.tracker} {
			t.Fatalf("after step %d: scale and tracker %v, want %v and %v", i, got, s.scale, s.tracker)
		}
	}
}
