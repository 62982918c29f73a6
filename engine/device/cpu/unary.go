package cpu

import (
	"fmt"
	"math"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

type unaryJob struct {
	op     device.UnaryOp
	dst, x view
	dy     view // the gradient is wanted when present
	wide   bool
}

// Unary implements device.Elementwise.
func (b *Backend) Unary(op device.UnaryOp, dst, x device.Array) {
	b.unary("unary", op, dst, x, device.Array{DType: x.DType})
}

// UnaryBackward implements device.Elementwise.
func (b *Backend) UnaryBackward(op device.UnaryOp, dx, x, dy device.Array) {
	device.CheckLen("unary backward", "dy", dy, x.Len)
	b.unary("unary backward", op, dx, x, dy)
}

func (b *Backend) unary(name string, op device.UnaryOp, dst, x, dy device.Array) {
	op.Check(name)
	device.CheckFloat(name, dst.DType, x.DType, dy.DType)
	b.jobs.unary = unaryJob{
		op: op, dst: b.view(name, "dst", dst, x.Len), x: b.resolve(x), dy: b.resolve(dy), wide: device.Wide(dst.DType, x.DType, dy.DType),
	}
	b.pool.run(&b.jobs.unary, parts(x.Len))
}

func (j *unaryJob) run(w *worker, part int) {
	inType(j.wide, unaryPart[float64], unaryPart[float32])(w, j, part)
}

func unaryPart[T float](w *worker, j *unaryJob, part int) {
	runs(part, j.x.n, func(i, n int) {
		x, dst := load[T](w, slotA, j.x, i, n), room[T](w, slotB, j.dst, i, n)
		if j.dy.absent() {
			apply(j.op, dst, x)
		} else {
			derive(j.op, dst, x, load[T](w, slotC, j.dy, i, n))
		}
		store(j.dst, i, dst)
	})
}

// apply sets dst = f(x).
func apply[T float](op device.UnaryOp, dst, x []T) {
	x = x[:len(dst)]
	switch op {
	case device.ReLU:
		for i := simd.ReLU(single(dst), single(x)); i < len(x); i++ {
			v := x[i]
			if v < 0 {
				v = 0
			}
			dst[i] = v
		}
	case device.GELU:
		for i := simd.GELU(single(dst), single(x)); i < len(x); i++ {
			dst[i] = gelu(x[i])
		}
	case device.GELUTanh:
		for i := simd.GELUTanh(single(dst), single(x)); i < len(x); i++ {
			dst[i] = geluTanh(x[i])
		}
	case device.SiLU:
		for i := simd.SiLU(single(dst), single(x)); i < len(x); i++ {
			dst[i] = x[i] * sigmoid(x[i])
		}
	default:
		f := function[T](op)
		for i, v := range x {
			dst[i] = f(v)
		}
	}
}

// function returns the functions that no large layer uses.
func function[T float](op device.UnaryOp) func(T) T {
	switch op {
	case device.Neg:
		return func(x T) T { return -x }
	case device.Exp:
		return exp[T]
	case device.Log:
		return func(x T) T { return T(math.Log(float64(x))) }
	case device.Sqrt:
		return sqrt[T]
	case device.Rsqrt:
		return func(x T) T { return 1 / sqrt(x) }
	case device.Square:
		return func(x T) T { return x * x }
	case device.Abs:
		return func(x T) T { return T(math.Abs(float64(x))) }
	case device.Sigmoid:
		return sigmoid[T]
	case device.Tanh:
		return tanh[T]
	default:
		panic(fmt.Sprintf("cpu: unary: operation %v", op))
	}
}

// derive sets dx = dy·f'(x).
func derive[T float](op device.UnaryOp, dx, x, dy []T) {
	x, dy = x[:len(dx)], dy[:len(dx)]
	switch op {
	case device.ReLU:
		for i := simd.ReLUSlope(single(dx), single(x), single(dy)); i < len(x); i++ {
			d := dy[i]
			if x[i] <= 0 {
				d = 0
			}
			dx[i] = d
		}
	case device.GELU:
		for i := simd.GELUSlope(single(dx), single(x), single(dy)); i < len(x); i++ {
			dx[i] = dy[i] * geluSlope(x[i])
		}
	case device.GELUTanh:
		for i := simd.GELUTanhSlope(single(dx), single(x), single(dy)); i < len(x); i++ {
			dx[i] = dy[i] * geluTanhSlope(x[i])
		}
	case device.SiLU:
		for i := simd.SiLUSlope(single(dx), single(x), single(dy)); i < len(x); i++ {
			s := sigmoid(x[i])
			dx[i] = dy[i] * (s * (1 + x[i]*(1-s)))
		}
	default:
		slope := slope[T](op)
		for i, v := range x {
			dx[i] = dy[i] * slope(v)
		}
	}
}

func slope[T float](op device.UnaryOp) func(T) T {
	switch op {
	case device.Neg:
		return func(T) T { return -1 }
	case device.Exp:
		return exp[T]
	case device.Log:
		return func(x T) T { return 1 / x }
	case device.Sqrt:
		return func(x T) T { return 0.5 / sqrt(x) }
	case device.Rsqrt:
		return func(x T) T { return -0.5 / (x * sqrt(x)) }
	case device.Square:
		return func(x T) T { return 2 * x }
	case device.Abs:
		return sign[T]
	case device.Sigmoid:
		return func(x T) T { s := sigmoid(x); return s * (1 - s) }
	case device.Tanh:
		return func(x T) T { t := tanh(x); return 1 - t*t }
	default:
		panic(fmt.Sprintf("cpu: unary backward: operation %v", op))
	}
}

func sign[T float](x T) T {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // 0, or NaN
}

func gelu[T float](x T) T {
	phi, _ := normalOf(x)
	return x * phi
}

func geluSlope[T float](x T) T {
	const density = 0.39894228040143267794 // 1/√(2π)
	phi, bell := normalOf(x)
	return phi + x*density*bell
}

const (
	geluScale = 0.79788456080286535588 // √(2/π)
	geluCubic = 0.044715
)

// geluTanh uses x/2·(1+tanh z) = x/(1+e^-2z).
func geluTanh[T float](x T) T {
	return x * sigmoid(2*geluScale*(x+geluCubic*x*x*x))
}

func geluTanhSlope[T float](x T) T {
	s := sigmoid(2 * geluScale * (x + geluCubic*x*x*x))
	return s + x*s*(1-s)*(2*geluScale*(1+3*geluCubic*x*x))
}
