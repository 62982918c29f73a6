package kernels

import "github.com/memtop/memtop/engine/device"

type softmaxArgs struct {
	Y, X, DY, DX device.Array
	Cols         int64
}

// Softmax implements device.Normalizations.
func (c *Compute) Softmax(y, x device.Array, rows, cols int, causal bool) {
	checkTypes("softmax", y.DType, x.DType)
	device.CheckLen("softmax", "y", y, rows*cols)
	device.CheckLen("softmax", "x", x, rows*cols)
	if cols == 0 {
		return
	}
	if causal {
		n := int64(cols)
		launch(c, ScoreSoftmax, line(rows), rowThreads(cols), 0, scoresArgs{
			Scores: x, Probs: y, ScoresStep: n * n, ProbsStep: n * n, Rows: n, Queries: n, Keys: n, Scale: 1, Causal: 1,
		})
		return
	}
	launch(c, Softmax, line(rows), rowThreads(cols), 0, softmaxArgs{Y: y, X: x, Cols: int64(cols)})
}

// SoftmaxBackward implements device.Normalizations.
func (c *Compute) SoftmaxBackward(dx, y, dy device.Array, rows, cols int) {
	const name = "softmax backward"
	checkTypes(name, dx.DType, y.DType, dy.DType)
	device.CheckLen(name, "dx", dx, rows*cols)
	device.CheckLen(name, "y", y, rows*cols)
	device.CheckLen(name, "dy", dy, rows*cols)
	if cols == 0 {
		return
	}
	launch(c, SoftmaxBackward, line(rows), rowThreads(cols), 0, softmaxArgs{Y: y, DY: dy, DX: dx, Cols: int64(cols)})
}
