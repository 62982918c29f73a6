package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/engine/device"
)

// referenceNorm is the definition of both normalisations.
func referenceNorm(x, weight, bias []float64, rows, cols int, eps float64, rms bool) []float64 {
	y := make([]float64, len(x))
	for r := range rows {
		row := x[r*cols : (r+1)*cols]
		mean, variance := 0.0, 0.0
		if !rms {
			for _, v := range row {
				mean += v / float64(cols)
			}
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(cols)
		}
		for c, v := range row {
			y[r*cols+c] = (v - mean) / math.Sqrt(variance+eps)
			if weight != nil {
				y[r*cols+c] *= weight[c]
			}
			if bias != nil {
				y[r*cols+c] += bias[c]
			}
		}
	}
	return y
}

// normCase holds the operands of a normalisation and its gradients.
type normCase struct {
	n device.Norm
	g device.NormBackward
}

func newNormCase(r *rig, kind device.DType, rows, cols int, affine, rms bool) normCase {
	statistic := device.ComputeType(kind)
	n := device.Norm{
		RMS: rms, Rows: rows, Cols: cols, Eps: 1e-5, X: r.normals(kind, rows*cols), Y: r.array(kind, rows*cols),
		RStd: r.array(statistic, rows),
	}
	g := device.NormBackward{DY: r.normals(kind, rows*cols), DX: r.array(kind, rows*cols)}
	if !rms {
		n.Mean = r.array(statistic, rows)
	}
	if affine {
		n.Weight, g.DWeight = r.normals(kind, cols), r.array(kind, cols)
		if !rms {
			n.Bias, g.DBias = r.normals(kind, cols), r.array(kind, cols)
		}
	}
	g.N = n
	return normCase{n, g}
}

func (c normCase) run(r *rig) {
	r.Normalize(c.n.Plan())
	r.NormalizeBackward(c.g.Plan())
}

func TestNormsAgreeWithTheDefinition(t *testing.T) {
	for _, rms := range []bool{false, true} {
		for _, kind := range floats {
			for _, size := range [][2]int{{1, 1}, {3, 5}, {70, 129}, {5, 4097}} {
				for _, affine := range []bool{false, true} {
					t.Run(fmt.Sprintf("rms %v, %v, %v, affine %v", rms, kind, size, affine), func(t *testing.T) {
						r := newRig(t, 2)
						c := newNormCase(r, kind, size[0], size[1], affine, rms)
						c.run(r)
						weight, bias := optionalValues(r, c.n.Weight), optionalValues(r, c.n.Bias)
						want := referenceNorm(r.get(c.n.X), weight, bias, size[0], size[1], c.n.Eps, rms)
						near(t, "y", r.get(c.n.Y), want, 2*tolerance(kind))
					})
				}
			}
		}
	}
}

func TestANormAddsItsResidualFirstAndItsGradientLast(t *testing.T) {
	const rows, cols = 70, 129
	for _, rms := range []bool{false, true} {
		for _, kind := range []device.DType{device.Float32, device.BFloat16} {
			t.Run(fmt.Sprintf("rms %v, %v", rms, kind), func(t *testing.T) {
				r := newRig(t, 2)
				apart := newNormCase(r, kind, rows, cols, true, rms)
				x, residual := apart.n.X, r.normals(device.BFloat16, rows/2*cols) // its rows are used twice
				apart.n.X = r.array(kind, rows*cols)
				r.Binary(device.Add, apart.n.X, x, residual)
				apart.g.N.X = apart.n.X
				apart.run(r)

				together, others := apart, r.normals(device.Float32, rows*cols)
				together.n.X, together.n.Residual, together.n.Sum = x, residual, r.array(kind, rows*cols)
				together.n.Y = r.array(kind, rows*cols)
				together.g.DX, together.g.Add, together.g.Low = others, others, r.array(device.BFloat16, rows*cols)
				together.g.DWeight = r.array(kind, cols)
				before := r.get(others)
				together.run(r)

				near(t, "sum", r.get(together.n.Sum), r.get(apart.n.X), 0)
				near(t, "y", r.get(together.n.Y), r.get(apart.n.Y), 0)
				near(t, "dweight", r.get(together.g.DWeight), r.get(apart.g.DWeight), 0)
				for i, dx := range r.get(apart.g.DX) {
					before[i] += dx
				}
				near(t, "dx", r.get(together.g.DX), before, 4*tolerance(kind))
				near(t, "low", r.get(together.g.Low), before, 4*tolerance(device.BFloat16))
			})
		}
	}
}

func optionalValues(r *rig, a device.Array) []float64 {
	if a.Absent() {
		return nil
	}
	return r.get(a)
}

func TestNormGradientsInHalfPrecisionFollowThoseInFloat64(t *testing.T) {
	for _, rms := range []bool{false, true} {
		for _, kind := range []device.DType{device.Float32, device.BFloat16, device.Float16} {
			t.Run(fmt.Sprintf("rms %v, %v", rms, kind), func(t *testing.T) {
				r := newRig(t, 2)
				low := newNormCase(r, kind, 37, 70, true, rms)
				exact := newNormCase(r, device.Float64, 37, 70, true, rms)
				for _, pair := range [][2]device.Array{{exact.n.X, low.n.X}, {exact.n.Weight, low.n.Weight}, {exact.g.DY, low.g.DY}} {
					r.set(pair[0], r.get(pair[1]))
				}
				low.g.DX = low.g.DY // in place
				low.run(r)
				exact.run(r)
				near(t, "dx", r.get(low.g.DX), r.get(exact.g.DX), 4*tolerance(kind))
				near(t, "dweight", r.get(low.g.DWeight), r.get(exact.g.DWeight), 4*tolerance(kind))
			})
		}
	}
}

func referenceSoftmax(x []float64, rows, cols int) []float64 {
	y := make([]float64, len(x))
	for r := range rows {
		top, total := math.Inf(-1), 0.0
		for _, v := range x[r*cols : (r+1)*cols] {
			top = math.Max(top, v)
		}
		for c := range cols {
			y[r*cols+c] = math.Exp(x[r*cols+c] - top)
			total += y[r*cols+c]
		}
		for c := range cols {
			y[r*cols+c] /= total
		}
	}
	return y
}

func TestSoftmaxAndItsGradient(t *testing.T) {
	for _, kind := range floats {
		for _, size := range [][2]int{{1, 1}, {3, 7}, {65, 300}, {2, 20001}} {
			t.Run(fmt.Sprintf("%v, %v", kind, size), func(t *testing.T) {
				r := newRig(t, 2)
				n := size[0] * size[1]
				x, y, dy, dx := r.normals(kind, n), r.array(kind, n), r.normals(kind, n), r.array(kind, n)
				r.Softmax(y, x, size[0], size[1], false)
				near(t, "y", r.get(y), referenceSoftmax(r.get(x), size[0], size[1]), tolerance(kind))
				r.SoftmaxBackward(dx, y, dy, size[0], size[1])
				if n > 100 || kind != device.Float64 {
					return
				}
				want := numericalGradient(r.get(x), r.get(dy), func(v []float64) []float64 { return referenceSoftmax(v, size[0], size[1]) })
				near(t, "dx", r.get(dx), want, 1e-8)
			})
		}
	}
}

func TestSoftmaxOfLargeNumbersStaysFinite(t *testing.T) {
	r := newRig(t, 1)
	y := r.array(device.Float32, 3)
	r.Softmax(y, r.put(device.Float32, 1e30, 1e30, -1e30), 1, 3, false)
	near(t, "y", r.get(y), []float64{0.5, 0.5, 0}, 1e-7)
}

// TestACausalSoftmaxIsThatOfMaskedScores wants the same bits as with −Inf in place of the
// keys that a query does not see.
func TestACausalSoftmaxIsThatOfMaskedScores(t *testing.T) {
	const matrices, n = 2, 19
	for _, kind := range floats {
		r := newRig(t, 2)
		x, masked := r.normals(kind, matrices*n*n), r.array(kind, matrices*n*n)
		r.Cast(masked, x)
		for row := range matrices * n {
			r.Fill(masked.Slice(row*n+row%n+1, n-row%n-1), math.Inf(-1))
		}
		got, want := r.array(kind, x.Len), r.array(kind, x.Len)
		r.Softmax(got, x, matrices*n, n, true)
		r.Softmax(want, masked, matrices*n, n, false)
		equal.Values(t, kind.String(), r.get(want), r.get(got))
	}
}
