package cpu

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// Element-by-element operations are divided into parts of partSize elements, and
// these into runs of runSize, whose converted operands fit into the first cache.
const (
	partSize = 32 << 10
	runSize  = 2 << 10
)

func parts(n int) int { return (n + partSize - 1) / partSize }

// runs calls do for every run of a part.
func runs(part, n int, do func(i, n int)) {
	end := min(n, (part+1)*partSize)
	for i := part * partSize; i < end; i += runSize {
		do(i, min(runSize, end-i))
	}
}

type fillJob struct {
	dst   view
	value float64
}

// Fill implements device.Elementwise.
func (b *Backend) Fill(dst device.Array, value float64) {
	b.jobs.fill = fillJob{b.view("fill", "dst", dst, dst.Len), value}
	b.pool.run(&b.jobs.fill, parts(dst.Len))
}

func (j *fillJob) run(w *worker, part int) {
	from := part * partSize
	n := min(partSize, j.dst.n-from)
	size := int(j.dst.kind.Size())
	bytes := slice[byte](j.dst, from*size, n*size)
	if j.value == 0 {
		clear(bytes)
		return
	}
	j.dst.setNumber(from, j.value)
	for done := size; done < len(bytes); done *= 2 {
		copy(bytes[done:], bytes[:done])
	}
}

type castJob struct{ dst, src view }

// Cast implements device.Elementwise.
func (b *Backend) Cast(dst, src device.Array) {
	if dst.DType == src.DType {
		b.view("cast", "dst", dst, src.Len)
		b.Copy(dst.Buffer(), src.Buffer())
		return
	}
	b.jobs.cast = castJob{b.view("cast", "dst", dst, src.Len), b.view("cast", "src", src, src.Len)}
	b.pool.run(&b.jobs.cast, parts(src.Len))
}

// run converts through float32 if that loses nothing, else through float64, and
// from Int64 to an integer directly.
func (j *castJob) run(w *worker, part int) {
	runs(part, j.src.n, func(i, n int) {
		switch {
		case j.src.kind == device.Int64 && !j.dst.kind.IsFloat():
			castInt64(j.dst, i, slice[int64](j.src, i, n))
		case j.src.kind == device.Int32, j.src.kind == device.Int64, j.src.kind == device.Float64:
			narrow(j.dst, i, load[float64](w, slotA, j.src, i, n))
		default:
			narrow(j.dst, i, load[float32](w, slotA, j.src, i, n))
		}
	})
}

func castInt64(dst view, i int, src []int64) {
	for k, x := range src {
		switch dst.kind {
		case device.Int8:
			slice[int8](dst, i+k, 1)[0] = int8(min(max(x, -128), 127))
		case device.UInt8:
			slice[uint8](dst, i+k, 1)[0] = uint8(min(max(x, 0), 255))
		case device.Int32:
			slice[int32](dst, i+k, 1)[0] = int32(min(max(x, -1<<31), 1<<31-1))
		default:
			panic(fmt.Sprintf("cpu: cast of int64 to %v", dst.kind))
		}
	}
}

type binaryJob struct {
	op        device.BinaryOp
	dst, a, b view
	scaled    bool // dst = a + alpha·b, and op is not used
	alpha     float64
	wide      bool
}

// Binary implements device.Elementwise.
func (b *Backend) Binary(op device.BinaryOp, dst, x, y device.Array) {
	op.Check("binary")
	device.CheckFloat("binary", dst.DType, x.DType, y.DType)
	if x.Len != 0 && (y.Len == 0 || x.Len%y.Len != 0) {
		panic(fmt.Sprintf("cpu: binary: b of %d elements does not repeat into a of %d", y.Len, x.Len))
	}
	b.jobs.binary = binaryJob{
		op: op, dst: b.view("binary", "dst", dst, x.Len), a: b.view("binary", "a", x, x.Len),
		b: b.view("binary", "b", y, y.Len), wide: device.Wide(dst.DType, x.DType, y.DType),
	}
	b.pool.run(&b.jobs.binary, parts(x.Len))
}

// AddScaled implements device.Elementwise.
func (b *Backend) AddScaled(dst, x, y device.Array, alpha float64) {
	device.CheckFloat("add scaled", dst.DType, x.DType, y.DType)
	b.jobs.binary = binaryJob{
		dst: b.view("add scaled", "dst", dst, x.Len), a: b.view("add scaled", "a", x, x.Len),
		b: b.view("add scaled", "b", y, x.Len), scaled: true, alpha: alpha,
		wide: device.Wide(dst.DType, x.DType, y.DType),
	}
	b.pool.run(&b.jobs.binary, parts(x.Len))
}

func (j *binaryJob) run(w *worker, part int) {
	inType(j.wide, binaryPart[float64], binaryPart[float32])(w, j, part)
}

func binaryPart[T float](w *worker, j *binaryJob, part int) {
	runs(part, j.a.n, func(i, n int) {
		for n > 0 { // up to where b starts again
			k := i % j.b.n
			m := min(n, j.b.n-k)
			a, b := load[T](w, slotA, j.a, i, m), load[T](w, slotB, j.b, k, m)
			dst := room[T](w, slotC, j.dst, i, m)
			if j.scaled {
				addScaled(dst, a, b, T(j.alpha))
			} else {
				combine(j.op, dst, a, b)
			}
			store(j.dst, i, dst)
			i, n = i+m, n-m
		}
	})
}

func addScaled[T float](dst, a, b []T, alpha T) {
	a, b = a[:len(dst)], b[:len(dst)]
	done := simd.AddScaled(single(dst), single(a), single(b), float32(alpha))
	for i := done; i < len(dst); i++ {
		dst[i] = a[i] + alpha*b[i]
	}
}

func combine[T float](op device.BinaryOp, dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	switch op {
	case device.Add:
		for i := simd.Add(single(dst), single(a), single(b)); i < len(dst); i++ {
			dst[i] = a[i] + b[i]
		}
	case device.Sub:
		for i := range dst {
			dst[i] = a[i] - b[i]
		}
	case device.Mul:
		for i := simd.Mul(single(dst), single(a), single(b)); i < len(dst); i++ {
			dst[i] = a[i] * b[i]
		}
	case device.Div:
		for i := range dst {
			dst[i] = a[i] / b[i]
		}
	default:
		panic(fmt.Sprintf("cpu: binary: operation %d", op))
	}
}

type scaleJob struct {
	dst, x view
	factor float64
	wide   bool
}

// Scale implements device.Elementwise.
func (b *Backend) Scale(dst, x device.Array, factor float64) {
	device.CheckFloat("scale", dst.DType, x.DType)
	b.jobs.scale = scaleJob{
		b.view("scale", "dst", dst, x.Len), b.view("scale", "x", x, x.Len), factor,
		device.Wide(dst.DType, x.DType),
	}
	b.pool.run(&b.jobs.scale, parts(x.Len))
}

// ScaleBy implements device.Elementwise.
func (b *Backend) ScaleBy(dst, x, factor device.Array) {
	b.Scale(dst, x, b.view("scale by", "factor", factor, 1).number(0))
}

func (j *scaleJob) run(w *worker, part int) {
	inType(j.wide, scalePart[float64], scalePart[float32])(w, j, part)
}

func scalePart[T float](w *worker, j *scaleJob, part int) {
	factor := T(j.factor)
	runs(part, j.x.n, func(i, n int) {
		x, dst := load[T](w, slotA, j.x, i, n), room[T](w, slotB, j.dst, i, n)
		multiplyRow(dst, x, factor)
		store(j.dst, i, dst)
	})
}

// multiplyRow sets dst = factor·x.
func multiplyRow[T float](dst, x []T, factor T) {
	x = x[:len(dst)]
	for i := simd.Scale(single(dst), single(x), float32(factor)); i < len(dst); i++ {
		dst[i] = factor * x[i]
	}
}
