package kernels

import "github.com/memtop/memtop/engine/device"

type softmaxArgs struct {
	Y, X, DY, DX device.Array
	Cols         int64
}

// Softmax implements device.Normalizations.
func (c *Compute) Softmax(y, x device.Array, rows, cols int) {
	device.CheckFloat("softmax", y.DType, x.DType)
	device.CheckLen("softmax", "y", y, rows*cols)
	device.CheckLen("softmax", "x", x, rows*cols)
	if cols == 0 {
		return
	}
	k := pick(device.Wide(y.DType, x.DType), SoftmaxWide, Softmax)
	launch(c, k, line(rows), rowThreads(cols), 0, softmaxArgs{Y: y, X: x, Cols: int64(cols)})
}

// SoftmaxBackward implements device.Normalizations.
func (c *Compute) SoftmaxBackward(dx, y, dy device.Array, rows, cols int) {
	const name = "softmax backward"
	device.CheckFloat(name, dx.DType, y.DType, dy.DType)
	device.CheckLen(name, "dx", dx, rows*cols)
	device.CheckLen(name, "y", y, rows*cols)
	device.CheckLen(name, "dy", dy, rows*cols)
	if cols == 0 {
		return
	}
	k := pick(device.Wide(dx.DType, y.DType, dy.DType), SoftmaxBackwardWide, SoftmaxBackward)
	launch(c, k, line(rows), rowThreads(cols), 0, softmaxArgs{Y: y, DY: dy, DX: dx, Cols: int64(cols)})
}
