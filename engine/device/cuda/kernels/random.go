package kernels

import (
	"math"

	"github.com/memtop/memtop/engine/device"
)

type dropoutArgs struct {
	Y, X, Mask   device.Array
	Seed, Offset uint64
	Scale        float64
	Least        uint32
	Drawn        int32
}

// Dropout implements device.Random.
func (c *Compute) Dropout(y, x, mask device.Array, p float64, s device.Seed) {
	c.dropout("dropout", y, x, mask, p, dropoutArgs{Seed: s.Seed, Offset: s.Offset, Drawn: 1})
}

// DropoutBackward implements device.Random.
func (c *Compute) DropoutBackward(dx, dy, mask device.Array, p float64) {
	device.CheckLen("dropout backward", "mask", mask, dy.Len)
	c.dropout("dropout backward", dx, dy, mask, p, dropoutArgs{})
}

func (c *Compute) dropout(name string, y, x, mask device.Array, p float64, a dropoutArgs) {
	checkTypes(name, y.DType, x.DType)
	device.CheckLen(name, "output", y, x.Len)
	device.CheckDropout(name, mask, x.Len, p)
	a.Y, a.X, a.Mask = y, x, mask
	a.Scale, a.Least = 1/(1-p), uint32(math.Ceil(p*0x1p24))
	launch(c, Dropout, quads(x.Len), blockThreads, 0, a)
}

type drawArgs struct {
	Dst          device.Array
	Seed, Offset uint64
	Base, Width  float64
	Normal       int32
}

// Uniform implements device.Random.
func (c *Compute) Uniform(dst device.Array, low, high float64, s device.Seed) {
	c.draw(drawArgs{dst, s.Seed, s.Offset, low, high - low, 0})
}

// Normal implements device.Random.
func (c *Compute) Normal(dst device.Array, mean, std float64, s device.Seed) {
	c.draw(drawArgs{dst, s.Seed, s.Offset, mean, std, 1})
}

func (c *Compute) draw(a drawArgs) {
	checkTypes("random", a.Dst.DType)
	launch(c, Draw, quads(a.Dst.Len), blockThreads, 0, a)
}
