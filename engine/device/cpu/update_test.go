package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device"
)

// TestAdamW8FollowsAdamWWithRoundedMoments compares with the definition.
func TestAdamW8FollowsAdamWWithRoundedMoments(t *testing.T) {
	fatal.IfShort(t)
	for _, n := range []int{1, 256, 300, partSize + 1} {
		t.Run(fmt.Sprintf("%d parameters", n), func(t *testing.T) {
			r := newRig(t, 2)
			blocks := device.QuantBlocks(n)
			x := device.Parameter{
				P: r.normals(device.Float32, n), Low: r.array(device.BFloat16, n), M: r.array(device.UInt8, n), V: r.array(device.UInt8, n),
				ScaleM: r.array(device.Float32, blocks), ScaleV: r.array(device.Float32, blocks),
			}
			r.Fill(x.M, device.ZeroM)
			r.Fill(x.V, device.ZeroV)
			r.Fill(x.ScaleM, 0)
			r.Fill(x.ScaleV, 0)
			u := device.Update{
				Rule: device.AdamW8, LR: 0.01, WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8,
				Step: r.put(device.Float32, 0), FoundInf: r.put(device.Float32, 0),
			}
			want, m, v := r.get(x.P), make([]float64, n), make([]float64, n)
			for step := 1.0; step <= 5; step++ {
				x.G = r.normals(device.Float32, n)
				u.List = []device.Parameter{x}
				r.AdvanceStep(u.Step, u.FoundInf)
				r.Update(u.Plan())
				for i, g := range r.get(x.G) {
					m[i] = 0.9*m[i] + 0.1*g
					v[i] = 0.95*v[i] + 0.05*g*g
					want[i] -= 0.01 * (0.1*want[i] + m[i]/(1-math.Pow(0.9, step))/(math.Sqrt(v[i]/(1-math.Pow(0.95, step)))+1e-8))
				}
				roundBlocks(m, true)
				roundBlocks(v, false)
			}
			got, off := r.get(x.P), 0
			near(t, "parameters", got, want, 2e-2)
			near(t, "low precision copy", r.get(x.Low), got, 0x1p-8)
			for i := range got {
				if math.Abs(got[i]-want[i]) > 1e-5*(1+math.Abs(want[i])) {
					off++
				}
			}
			// float32 puts a number that lies between two codes now and then
			// into the other one.
			if off*1000 > n {
				t.Errorf("%d of %d parameters are off", off, n)
			}
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
	step := func(threads int, rule device.Rule, momentum, together bool) (bits [][]float64) {
		r := newRig(t, threads)
		u := device.Update{
			Rule: rule, LR: 0.01, WeightDecay: 0.1, Momentum: 0.9, Nesterov: momentum, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8,
			Step: r.put(device.Float32, 1), Norm: r.put(device.Float32, 2), Limit: 1,
		}
		if !momentum {
			u.Momentum = 0
		}
		for _, n := range sizes {
			x := device.Parameter{P: r.normals(device.Float32, n), G: r.normals(device.BFloat16, n), Low: r.array(device.Float16, n)}
			for _, a := range []*device.Array{&x.M, &x.V} {
				if !momentum {
					break
				}
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
				bits = append(bits, optionalValues(r, a))
			}
		}
		return bits
	}
	same := func(rule device.Rule, momentum bool) {
		want := step(1, rule, momentum, false)
		for _, threads := range []int{1, 2, 5} {
			for i, got := range step(threads, rule, momentum, true) {
				if !slices.Equal(got, want[i]) {
					t.Errorf("%v with %d workers: array %d of the list is not that of a step alone", rule, threads, i)
				}
			}
		}
	}
	for _, rule := range device.Rules() {
		same(rule, true)
	}
	same(device.SGD, false)
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
