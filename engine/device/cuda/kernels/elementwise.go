package kernels

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
)

type fillArgs struct {
	Dst   device.Array
	Value float64
}

// Fill implements device.Elementwise.
func (c *Compute) Fill(dst device.Array, value float64) {
	launch(c, Fill, quads(dst.Len), blockThreads, 0, fillArgs{dst, value})
}

type castArgs struct{ Dst, Src device.Array }

// Cast implements device.Elementwise.
func (c *Compute) Cast(dst, src device.Array) {
	device.CheckLen("cast", "dst", dst, src.Len)
	if dst.DType == src.DType { // keep the bits, for every type
		c.copyArray(dst, src)
		return
	}
	launch(c, Cast, quads(src.Len), blockThreads, 0, castArgs{dst, src})
}

type unaryArgs struct {
	Dst, X, DY device.Array
	F          int32
}

// Unary implements device.Elementwise.
func (c *Compute) Unary(op device.UnaryOp, dst, x device.Array) {
	c.unary("unary", op, dst, x, device.Array{DType: x.DType})
}

// UnaryBackward implements device.Elementwise.
func (c *Compute) UnaryBackward(op device.UnaryOp, dx, x, dy device.Array) {
	device.CheckLen("unary backward", "dy", dy, x.Len)
	c.unary("unary backward", op, dx, x, dy)
}

func (c *Compute) unary(name string, op device.UnaryOp, dst, x, dy device.Array) {
	checkTypes(name, dst.DType, x.DType, dy.DType)
	device.CheckLen(name, "dst", dst, x.Len)
	op.Check(name)
	launch(c, Unary, quads(x.Len), blockThreads, 0, unaryArgs{dst, x, dy, int32(op)})
}

type binaryArgs struct {
	Dst, A, B device.Array
	Alpha     float64
	Op        int32
}

// addScaled is an operation of binaryArgs that device.BinaryOp does not have.
const addScaled = device.Div + 1

// Binary implements device.Elementwise.
func (c *Compute) Binary(op device.BinaryOp, dst, a, b device.Array) {
	op.Check("binary")
	if a.Len != 0 && (b.Len == 0 || a.Len%b.Len != 0) {
		panic(fmt.Sprintf("kernels: binary: b of %d elements does not repeat into a of %d", b.Len, a.Len))
	}
	c.binary("binary", op, dst, a, b, 0)
}

// AddScaled implements device.Elementwise.
func (c *Compute) AddScaled(dst, a, b device.Array, alpha float64) {
	device.CheckLen("add scaled", "b", b, a.Len)
	c.binary("add scaled", addScaled, dst, a, b, alpha)
}

func (c *Compute) binary(name string, op device.BinaryOp, dst, a, b device.Array, alpha float64) {
	checkTypes(name, dst.DType, a.DType, b.DType)
	device.CheckLen(name, "dst", dst, a.Len)
	launch(c, Binary, quads(a.Len), blockThreads, 0, binaryArgs{dst, a, b, alpha, int32(op)})
}

type scaleArgs struct {
	Dst, X, By device.Array
	Factor     float64
}

// Scale implements device.Elementwise.
func (c *Compute) Scale(dst, x device.Array, factor float64) {
	c.scale("scale", dst, x, device.Array{}, factor)
}

// ScaleBy implements device.Elementwise.
func (c *Compute) ScaleBy(dst, x, factor device.Array) {
	device.CheckLen("scale by", "factor", factor, 1)
	checkTypes("scale by", factor.DType)
	c.scale("scale by", dst, x, factor, 0)
}

func (c *Compute) scale(name string, dst, x, by device.Array, factor float64) {
	checkTypes(name, dst.DType, x.DType)
	device.CheckLen(name, "dst", dst, x.Len)
	launch(c, Scale, quads(x.Len), blockThreads, 0, scaleArgs{dst, x, by, factor})
}
