package kernels

import "github.com/memtop/memtop/engine/device"

// copyStridedArgs has the dimensions from the last to the first, in units of
// size bytes.
type copyStridedArgs struct {
	Dst, Src                device.Array
	N                       int64
	Shape, DstStep, SrcStep [device.MaxDims]int64
	Dims, Size              int32
}

// CopyStrided implements device.Shapes.
func (c *Compute) CopyStrided(dst, src device.Strided, shape []int) {
	if !device.CheckStrided(dst, src, shape) {
		return
	}
	a := copyStridedArgs{Dst: dst.Base, Src: src.Base, N: 1, Size: int32(src.Base.DType.Size())}
	a.simplify(dst.Strides, src.Strides, shape)
	c.copyStrided(a)
}

// copyArray copies an array of any type.
func (c *Compute) copyArray(dst, src device.Array) {
	a := copyStridedArgs{Dst: dst, Src: src, N: int64(src.Len), Size: int32(src.DType.Size()), Dims: 1}
	a.Shape[0], a.DstStep[0], a.SrcStep[0] = a.N, 1, 1
	c.copyStrided(a)
}

func (c *Compute) copyStrided(a copyStridedArgs) {
	a.widen()
	launch(c, CopyStrided, line(ceil(int(a.N), blockThreads)), blockThreads, 0, a)
}

// simplify fills in the dimensions: it drops those of one element, and joins
// neighbours that are contiguous in both views.
func (a *copyStridedArgs) simplify(dst, src, shape []int) {
	n := 0
	for i := len(shape) - 1; i >= 0; i-- {
		size, d, s := int64(shape[i]), int64(dst[i]), int64(src[i])
		a.N *= size
		switch {
		case size == 1:
			continue
		case n > 0 && d == a.Shape[n-1]*a.DstStep[n-1] && s == a.Shape[n-1]*a.SrcStep[n-1]:
			a.Shape[n-1] *= size
			continue
		}
		a.Shape[n], a.DstStep[n], a.SrcStep[n] = size, d, s
		n++
	}
	a.Dims = int32(n)
}

// widen joins elements that are contiguous in both views into units of up to 16
// bytes.
func (a *copyStridedArgs) widen() {
	for a.Size < 16 && a.Dims > 0 && a.DstStep[0] == 1 && a.SrcStep[0] == 1 && a.halves() {
		a.Size *= 2
		a.N /= 2
		a.Shape[0] /= 2
		for d := 1; d < int(a.Dims); d++ {
			a.DstStep[d] /= 2
			a.SrcStep[d] /= 2
		}
	}
}

// halves reports whether two units make one of twice the size everywhere.
func (a *copyStridedArgs) halves() bool {
	if odd := (a.Dst.Addr | a.Src.Addr) % uint64(2*a.Size); odd != 0 || a.Shape[0]%2 != 0 {
		return false
	}
	for d := 1; d < int(a.Dims); d++ {
		if (a.DstStep[d]|a.SrcStep[d])%2 != 0 {
			return false
		}
	}
	return true
}
