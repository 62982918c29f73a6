package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

// rowSizes are rows and columns; the last ones are too long for shares of the gradients in
// shared memory.
var rowSizes = [][2]int{{1, 1}, {3, 5}, {7, 128}, {2, 1025}, {297, 33}, {1, 4099}, {3, 6100}, {530, 2}}

func TestNorms(t *testing.T) {
	r := newRig(t)
	for name, mix := range mixes {
		for _, size := range rowSizes {
			for _, with := range []string{"nothing", "weight", "weight and bias"} {
				t.Run(fmt.Sprintf("%s, %v, with %s", name, size, with), func(t *testing.T) {
					r.seedAskew(t.Name())
					rows, cols := size[0], size[1]
					// dx of a row of one number is a difference that only eps keeps from 0:
					// if eps is small, all its digits are rounding.
					eps := 1e-5
					if cols == 1 {
						eps = 0.5
					}
					n := device.Norm{Rows: rows, Cols: cols, Eps: eps, X: r.normals(mix[1], rows*cols)}
					if with != "nothing" {
						n.Weight = r.normals(mix[2], cols)
					}
					if with == "weight and bias" {
						n.Bias = r.normals(mix[2], cols)
					}
					again := rows // of the residual
					if rows%3 == 0 {
						again = rows / 3
					}
					dy, residual, add := r.normals(mix[2], rows*cols), r.normals(mix[2], again*cols), r.normals(mix[0], rows*cols)
					r.agree(t, 6, func(c computer) {
						n := n
						n.Y, n.Mean, n.RStd = r.output(mix[0], rows*cols), r.output(device.Float32, rows), r.output(device.Float32, rows)
						c.Normalize(n.Plan())
						c.NormalizeBackward(device.NormBackward{N: n, DY: dy, DX: r.output(mix[0], rows*cols), DWeight: r.output(mix[2], cols), DBias: r.output(mix[2], cols)}.Plan())
						inPlace := r.changed(dy)
						c.NormalizeBackward(device.NormBackward{N: n, DY: inPlace, DX: inPlace, DWeight: r.output(mix[2], cols)}.Plan())
						n.RMS, n.Y, n.RStd = true, r.output(mix[0], rows*cols), r.output(device.Float32, rows)
						c.Normalize(n.Plan())
						c.NormalizeBackward(device.NormBackward{N: n, DY: dy, DX: r.output(mix[0], rows*cols), DWeight: r.output(mix[2], cols)}.Plan())
						n.Residual, n.Sum = residual, r.output(mix[1], rows*cols)
						n.Y, n.RStd = r.output(mix[0], rows*cols), r.output(device.Float32, rows)
						c.Normalize(n.Plan())
						n.X = n.Sum
						sum := r.changed(add)
						c.NormalizeBackward(device.NormBackward{N: n, DY: dy, DX: sum, Add: sum, Low: r.output(mix[2], rows*cols), DBias: r.output(mix[2], cols)}.Plan())
					})
				})
			}
		}
	}
}

func TestSoftmax(t *testing.T) {
	r := newRig(t)
	for name, mix := range mixes {
		for _, size := range rowSizes {
			t.Run(fmt.Sprintf("%s, %v", name, size), func(t *testing.T) {
				r.seedAskew(t.Name())
				rows, cols := size[0], size[1]
				x, dy := r.normals(mix[1], rows*cols), r.normals(mix[2], rows*cols)
				r.cpu.Scale(x, x, 3)
				r.cpu.Fill(x.Slice(cols/2, 1), math.Inf(-1))
				y := r.array(mix[1], rows*cols)
				r.cpu.Softmax(y, x, rows, cols, false)
				r.agree(t, 8, func(c computer) {
					c.Softmax(r.output(mix[0], rows*cols), x, rows, cols, false)
					if rows%cols == 0 {
						c.Softmax(r.output(mix[0], rows*cols), x, rows, cols, true)
					}
					c.SoftmaxBackward(r.output(mix[0], rows*cols), y, dy, rows, cols)
				})
			})
		}
	}
}

func TestCrossEntropy(t *testing.T) {
	r := newRig(t)
	for _, kind := range floats {
		for _, index := range []device.DType{device.Int32, device.Int64} {
			for _, size := range [][3]int{{1, 2, 2}, {9, 33, 33}, {300, 65, 65}, {5, 5003, 5003}, {9, 33, 64}, {3, 5003, 5056}, {1, 1, 7}, {2, 16400, 16448}} {
				t.Run(fmt.Sprintf("%v, %v, %v", kind, index, size), func(t *testing.T) {
					r.seedAskew(t.Name())
					rows, classes, stride := size[0], size[1], size[2]
					targets := make([]float64, rows)
					for i := range targets {
						targets[i] = float64(r.rand.IntN(classes))
					}
					if rows > 1 {
						targets[rows/2] = -100
					}
					c := device.CrossEntropy{
						Rows: rows, Classes: classes, Stride: stride, IgnoreIndex: -100, Logits: r.normals(kind, rows*stride), Targets: r.put(index, targets...),
					}
					if rows > 1 { // the loss of one row may be near 0: then it is all rounding
						r.cpu.Scale(c.Logits, c.Logits, 5)
					}
					for i := range rows {
						r.cpu.Fill(c.Logits.Slice(i*stride+classes, stride-classes), math.NaN())
					}
					dloss, logits := r.put(device.Float32, 0.7), c.Logits
					r.agree(t, 8, func(on computer) {
						c := c
						c.LSE, c.Loss, c.Count = r.output(device.Float32, rows), r.output(device.Float32, 1), r.output(device.Float32, 1)
						on.CrossEntropy(c)
						on.CrossEntropyBackward(r.output(kind, rows*stride), c, dloss)
						c.Logits = r.changed(c.Logits)
						on.CrossEntropyBackward(c.Logits, c, dloss)
						both := c
						both.Logits, both.LSE = r.changed(logits), r.output(device.Float32, rows)
						both.Loss, both.Count = r.output(device.Float32, 1), r.output(device.Float32, 1)
						on.CrossEntropyBoth(both.Logits, both, dloss)
					})
				})
			}
		}
	}
}

func TestLossOfNothingIsNoNumber(t *testing.T) {
	r := newRig(t)
	logits, targets := r.normals(device.Float32, 6), r.put(device.Int64, -1, -1)
	r.agree(t, 1, func(c computer) {
		c.CrossEntropy(device.CrossEntropy{
			Rows: 2, Classes: 3, IgnoreIndex: -1, Logits: logits, Targets: targets, LSE: r.output(device.Float32, 2),
			Loss: r.output(device.Float32, 1), Count: r.output(device.Float32, 1),
		})
	})
}
