package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

// TestVectorLoopsGiveTheBitsOfThePlainOnes runs each loop over many numbers at
// once, and over one at a time, which is plain Go.
func TestVectorLoopsGiveTheBitsOfThePlainOnes(t *testing.T) {
	const n = 1003
	x, y := vectorOperands(n)
	loops := map[string]func(dst, x, y []float32){
		"add":                func(dst, x, y []float32) { combine(device.Add, dst, x, y) },
		"mul":                func(dst, x, y []float32) { combine(device.Mul, dst, x, y) },
		"scale":              func(dst, x, _ []float32) { multiplyRow(dst, x, 1.7) },
		"add scaled":         func(dst, x, y []float32) { addScaled(dst, x, y, 0.3) },
		"exp":                func(dst, x, _ []float32) { exponentials(dst, x, 0.9, 0.2) },
		"GELU by tanh":       func(dst, x, _ []float32) { apply(device.GELUTanh, dst, x) },
		"GELU by tanh slope": func(dst, x, y []float32) { derive(device.GELUTanh, dst, x, y) },
		"GELU":               func(dst, x, _ []float32) { apply(device.GELU, dst, x) },
		"GELU slope":         func(dst, x, y []float32) { derive(device.GELU, dst, x, y) },
		"ReLU":               func(dst, x, _ []float32) { apply(device.ReLU, dst, x) },
		"ReLU slope":         func(dst, x, y []float32) { derive(device.ReLU, dst, x, y) },
		"SiLU":               func(dst, x, _ []float32) { apply(device.SiLU, dst, x) },
		"SiLU slope":         func(dst, x, y []float32) { derive(device.SiLU, dst, x, y) },
		"adam": func(dst, x, y []float32) {
			u := device.Update{Rule: device.AdamW, LR: 0.1, WeightDecay: 0.2, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}
			j := &updateJob{UpdatePlan: device.UpdatePlan{Update: u}, size: 0.3, root: 1.2}
			m, v := append([]float32(nil), y...), make([]float32, len(x))
			copy(dst, x)
			adamRun(j, dst, y, m, v)
		},
	}
	for name, loop := range loops {
		t.Run(name, func(t *testing.T) {
			together, apart := make([]float32, n), make([]float32, n)
			loop(together, x, y)
			for i := range x {
				loop(apart[i:i+1], x[i:i+1], y[i:i+1])
			}
			for i := range x {
				a, b := together[i], apart[i]
				if math.Float32bits(a) != math.Float32bits(b) && (a == a || b == b) && !(fuses() && almost(a, b)) {
					t.Fatalf("of %v and %v: together %v, alone %v", x[i], y[i], a, b)
				}
			}
		})
	}
}

// fuses says whether the compiler makes one operation of a product and a sum,
// as it does for GOAMD64=v3. Then the plain loops round differently.
func fuses() bool {
	return multiplyAdd(1+0x1p-12, 1+0x1p-12, -1) != 0x1p-11
}

//go:noinline
func multiplyAdd(x, y, z float32) float32 { return x*y + z }

func almost(a, b float32) bool {
	return math.Abs(float64(a-b)) <= 1e-5*math.Abs(float64(a))
}

// vectorOperands returns ordinary numbers among which are all special ones.
func vectorOperands(n int) (x, y []float32) {
	r := rand.New(rand.NewPCG(3, 4))
	x, y = make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(20*r.NormFloat64()), float32(r.NormFloat64())
	}
	inf := float32(math.Inf(1))
	copy(x, []float32{0, inf, -inf, float32(math.NaN()), 88, 89, 97, 98.6, -87, -88, -96.8, -97.2, 1e30, -1e30, 1e-40})
	return x, y
}

func TestMaximumFindsNaNsAndInfinities(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, n := range []int{1, 7, 8, 9, 40, 41} {
		for at := range n {
			for _, special := range []float32{nan, inf, 3} {
				x := make([]float32, n)
				for i := range x {
					x[i] = -float32(i) - 1
				}
				x[at] = special
				if got := maximum(x); got != special && special == special || got == got && special != special {
					t.Fatalf("%v at %d of %d: got %v", special, at, n, got)
				}
			}
		}
	}
	if got := maximum([]float32{-inf, -inf}); got != -inf {
		t.Errorf("of −Inf only: got %v", got)
	}
}
