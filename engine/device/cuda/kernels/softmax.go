package kernels

import "memtop/engine/device"

type softmaxArgs struct {
	Y, X, DY, DX device.Array
	Cols         int64
}

// Softmax implements device.Normalizations.
func (c *Compute) Softmax(y, x device.Array, rows, cols int) {
	needFloat("softmax", y.DType, x.DType)
	need("softmax", "y", y, rows*cols)
	need("softmax", "x", x, rows*cols)
	if cols == 0 {
		return
	}
	k := pick(inFloat64(y.DType, x.DType), SoftmaxWide, Softmax)
	run(c, k, line(rows), rowThreads(cols), 0, softmaxArgs{Y: y, X: x, Cols: int64(cols)})
}

// SoftmaxBackward implements device.Normalizations.
func (c *Compute) SoftmaxBackward(dx, y, dy device.Array, rows, cols int) {
	const name = "softmax backward"
	needFloat(name, dx.DType, y.DType, dy.DType)
	need(name, "dx", dx, rows*cols)
	need(name, "y", y, rows*cols)
	need(name, "dy", dy, rows*cols)
	if cols == 0 {
		return
	}
	k := pick(inFloat64(dx.DType, y.DType, dy.DType), SoftmaxBackwardWide, SoftmaxBackward)
	run(c, k, line(rows), rowThreads(cols), 0, softmaxArgs{Y: y, DY: dy, DX: dx, Cols: int64(cols)})
}
