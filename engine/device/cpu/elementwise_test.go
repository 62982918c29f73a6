package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

// referenceUnary is the definition of every function, in float64.
func referenceUnary(op device.UnaryOp, x float64) float64 {
	switch op {
	case device.Neg:
		return -x
	case device.Exp:
		return math.Exp(x)
	case device.Log:
		return math.Log(x)
	case device.Sqrt:
		return math.Sqrt(x)
	case device.Rsqrt:
		return 1 / math.Sqrt(x)
	case device.Square:
		return x * x
	case device.Abs:
		return math.Abs(x)
	case device.Sigmoid:
		return 1 / (1 + math.Exp(-x))
	case device.Tanh:
		return math.Tanh(x)
	case device.ReLU:
		return math.Max(x, 0)
	case device.GELU:
		return x / 2 * (1 + math.Erf(x/math.Sqrt2))
	case device.GELUTanh:
		return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	case device.SiLU:
		return x / (1 + math.Exp(-x))
	}
	panic(op)
}

// domain makes numbers that a function takes.
func domain(op device.UnaryOp, values []float64) []float64 {
	for i, v := range values {
		switch op {
		case device.Log, device.Sqrt, device.Rsqrt:
			values[i] = math.Abs(v) + 0.1
		case device.ReLU, device.Abs: // away from the corner
			values[i] = v + math.Copysign(0.1, v)
		default:
		}
	}
	return values
}

func TestUnaryFunctionsAndTheirSlopes(t *testing.T) {
	for _, op := range device.UnaryOps() {
		for _, kind := range floats {
			t.Run(fmt.Sprintf("%v of %v", op, kind), func(t *testing.T) {
				r := newRig(t, 2)
				const n = 5000
				x := r.normals(kind, n)
				r.set(x, domain(op, r.get(x)))
				dy, y, dx := r.normals(kind, n), r.array(kind, n), r.array(kind, n)
				r.Unary(op, y, x)
				r.UnaryBackward(op, dx, x, dy)
				want, slopes := make([]float64, n), make([]float64, n)
				for i, v := range r.get(x) {
					want[i] = referenceUnary(op, v)
					const step = 1e-5
					slopes[i] = (referenceUnary(op, v+step) - referenceUnary(op, v-step)) / (2 * step) * r.get(dy.Slice(i, 1))[0]
				}
				near(t, "value", r.get(y), want, tolerance(kind))
				near(t, "gradient", r.get(dx), slopes, max(1e-7, tolerance(kind)))
			})
		}
	}
}

func TestExpIsAccurateOverItsWholeRange(t *testing.T) {
	worst := 0.0
	for x := -87.3; x < 88.7; x += 0.000917 {
		f := float32(x)
		want := math.Exp(float64(f))
		worst = max(worst, math.Abs(float64(exp32(f))-want)/want)
	}
	if worst > 2.5e-7 {
		t.Errorf("relative error up to %g, want at most 2.5e-7", worst)
	}
	for x, want := range map[float32]float32{-100: 0, 100: float32(math.Inf(1)), 0: 1} {
		if got := exp32(x); got != want {
			t.Errorf("exp(%v): got %v, want %v", x, got, want)
		}
	}
	if got := exp32(float32(math.NaN())); got == got {
		t.Errorf("exp(NaN): got %v", got)
	}
	if got := exp32(float32(math.Inf(-1))); got != 0 {
		t.Errorf("exp(-Inf): got %v", got)
	}
}

func TestBinaryRepeatsItsSecondOperand(t *testing.T) {
	ops := map[device.BinaryOp]func(a, b float64) float64{
		device.Add: func(a, b float64) float64 { return a + b },
		device.Sub: func(a, b float64) float64 { return a - b },
		device.Mul: func(a, b float64) float64 { return a * b },
		device.Div: func(a, b float64) float64 { return a / b },
	}
	for op, f := range ops {
		for _, kind := range floats {
			for _, size := range [][2]int{{1, 1}, {7, 7}, {70001, 70001}, {12 * 769, 769}, {6000, 1}, {3 * 5000, 5000}} {
				t.Run(fmt.Sprintf("operation %d, %v, %v", op, kind, size), func(t *testing.T) {
					r := newRig(t, 2)
					a, b, dst := r.normals(kind, size[0]), r.normals(kind, size[1]), r.array(kind, size[0])
					r.set(b, domain(device.Abs, r.get(b))) // to divide by
					r.Binary(op, dst, a, b)
					x, y := r.get(a), r.get(b)
					want := make([]float64, len(x))
					for i := range want {
						want[i] = f(x[i], y[i%len(y)])
					}
					near(t, "result", r.get(dst), want, tolerance(kind))
				})
			}
		}
	}
}

func TestScalingAndAdding(t *testing.T) {
	r := newRig(t, 2)
	a, b := r.normals(device.Float32, 5001), r.normals(device.BFloat16, 5001)
	x, y := r.get(a), r.get(b)
	sums, products := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		sums[i], products[i] = x[i]+0.25*y[i], -3*y[i]
	}
	r.AddScaled(a, a, b, 0.25)
	near(t, "accumulated in place", r.get(a), sums, 1e-6)
	dst := r.array(device.Float32, 5001)
	r.Scale(dst, b, -3)
	near(t, "scaled", r.get(dst), products, 1e-6)
	r.ScaleBy(dst, b, r.put(device.Float32, -3))
	near(t, "scaled by a number on the device", r.get(dst), products, 1e-6)
}

func TestCastsBetweenAllTypes(t *testing.T) {
	all := append([]device.DType{device.Int8, device.UInt8, device.Int32, device.Int64}, floats...)
	r := newRig(t, 2)
	for _, from := range all {
		for _, to := range all {
			src := r.put(from, 0, 1, 2, 3, 100, 64, 5, 6, 7, 8)
			dst := r.array(to, src.Len)
			r.Cast(dst, src)
			near(t, fmt.Sprintf("%v to %v", from, to), r.get(dst), r.get(src), 0)
		}
	}
}

func TestCastsToIntegersTruncateAndClamp(t *testing.T) {
	tests := map[device.DType][2]float64{
		device.Int8: {-128, 127}, device.UInt8: {0, 255}, device.Int32: {-1 << 31, 1<<31 - 1}, device.Int64: {-1 << 63, 1 << 63},
	}
	for kind, limits := range tests {
		t.Run(kind.String(), func(t *testing.T) {
			r := newRig(t, 1)
			dst := r.array(kind, 6)
			r.Cast(dst, r.put(device.Float32, -1e30, 1e30, 1.9, -0.9, math.NaN(), math.Inf(1)))
			near(t, "cast", r.get(dst), []float64{limits[0], limits[1], 1, 0, 0, limits[1]}, 0)
		})
	}
	r := newRig(t, 1)
	dst := r.array(device.Int32, 3)
	r.Cast(dst, r.put(device.Int64, -1<<40, 1<<40, -7))
	near(t, "int64 to int32", r.get(dst), []float64{-1 << 31, 1<<31 - 1, -7}, 0)
}

func TestFloat64ToHalfRoundsOnce(t *testing.T) {
	// Just above half way between two halves, by less than float32 can say.
	r := newRig(t, 1)
	for _, kind := range []device.DType{device.BFloat16, device.Float16} {
		unit := map[device.DType]float64{device.BFloat16: 0x1p-7, device.Float16: 0x1p-10}[kind]
		dst := r.array(kind, 2)
		r.Cast(dst, r.put(device.Float64, 1+unit/2+0x1p-40, 1+unit/2))
		near(t, kind.String(), r.get(dst), []float64{1 + unit, 1}, 0)
	}
}

func TestPhiloxGivesThePublishedNumbers(t *testing.T) {
	// The known answers of the Random123 distribution whose upper counter is 0.
	if got, want := philox(0, 0), [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}; got != want {
		t.Errorf("key 0, counter 0: got %#x, want %#x", got, want)
	}
}

func TestDropoutKeepsAndScales(t *testing.T) {
	for _, kind := range floats {
		for _, n := range []int{1, 5, 100003} {
			t.Run(fmt.Sprintf("%v, %d", kind, n), func(t *testing.T) {
				r := newRig(t, 2)
				x, y, mask := r.normals(kind, n), r.array(kind, n), r.array(device.UInt8, n)
				seed := device.Seed{Seed: 5, Offset: 1 << 40}
				r.Dropout(y, x, mask, 0.25, seed)
				kept := r.get(mask)
				want := r.get(x)
				for i := range want {
					word := philox(seed.Seed, seed.Offset+uint64(i/4))[i%4]
					if (unit(word) >= 0.25) != (kept[i] == 1) {
						t.Fatalf("element %d: mask %v, number %v", i, kept[i], unit(word))
					}
					want[i] *= kept[i] / 0.75
				}
				near(t, "y", r.get(y), want, tolerance(kind))
				if share := weighted(kept, ones(n)) / float64(n); n > 1000 && math.Abs(share-0.75) > 0.01 {
					t.Errorf("kept %v of the elements", share)
				}

				dx, again := r.array(kind, n), r.array(kind, n)
				r.DropoutBackward(dx, x, mask, 0.25)
				r.Dropout(again, x, device.Array{}, 0.25, seed)
				near(t, "backward by the mask", r.get(dx), r.get(y), 0)
				near(t, "backward by the seed", r.get(again), r.get(y), 0)
				r.Dropout(x, x, device.Array{}, 0.25, seed)
				near(t, "in place", r.get(x), r.get(y), 0)
			})
		}
	}
}

func TestDropoutWithProbabilityZeroChangesNothing(t *testing.T) {
	r := newRig(t, 1)
	x, y := r.normals(device.Float32, 1000), r.array(device.Float32, 1000)
	r.Dropout(y, x, device.Array{}, 0, device.Seed{})
	near(t, "y", r.get(y), r.get(x), 0)
}

func TestUniformAndNormalHaveTheirMoments(t *testing.T) {
	r := newRig(t, 2)
	const n = 200003
	tests := map[string]struct {
		draw            func(a device.Array)
		mean, deviation float64
	}{
		"uniform": {func(a device.Array) { r.Uniform(a, -1, 3, device.Seed{Seed: 1}) }, 1, 4 / math.Sqrt(12)},
		"normal":  {func(a device.Array) { r.Normal(a, 2, 0.5, device.Seed{Seed: 2}) }, 2, 0.5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := r.array(device.Float32, n)
			test.draw(a)
			x := r.get(a)
			mean := weighted(x, ones(n)) / n
			spread := math.Sqrt(weighted(x, x)/n - mean*mean)
			if math.Abs(mean-test.mean) > 0.01 || math.Abs(spread-test.deviation) > 0.01 {
				t.Errorf("mean %v and deviation %v, want %v and %v", mean, spread, test.mean, test.deviation)
			}
		})
	}
}
