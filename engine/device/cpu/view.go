package cpu

import (
	"math"
	"unsafe"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// float is a type of arithmetic.
type float interface{ float32 | float64 }

// view is a resolved operand: n elements of a type at an address of this
// process. Kernels read it with load and write it with open and close, a run of
// elements at a time, and see float32 or float64 whatever is stored.
type view struct {
	p    unsafe.Pointer
	n    int
	kind device.DType
}

func (v view) absent() bool { return v.p == nil }

// at returns the view from element i on.
func (v view) at(i int) view {
	return view{unsafe.Add(v.p, i*int(v.kind.Size())), v.n - i, v.kind}
}

// slice returns n elements from element i on as they are stored. T must be the
// storage type.
func slice[T any](v view, i, n int) []T {
	var x T
	return unsafe.Slice((*T)(unsafe.Add(v.p, i*int(unsafe.Sizeof(x)))), n)
}

// stored says whether v holds T as it is.
func stored[T float](v view) bool {
	var x T
	return v.kind == device.Float32 && unsafe.Sizeof(x) == 4 || v.kind == device.Float64 && unsafe.Sizeof(x) == 8
}

// load returns n elements of v from element i on, converted to T: v's own
// memory, or the worker's scratch in slot s. The result is for reading.
func load[T float](w *worker, s slot, v view, i, n int) []T {
	if stored[T](v) {
		return slice[T](v, i, n)
	}
	converted := scratch[T](w, s, n)
	widen(converted, v, i)
	return converted
}

// room returns memory for n results for v from element i on: v's own memory or
// scratch. The caller must then call store.
func room[T float](w *worker, s slot, v view, i, n int) []T {
	if stored[T](v) {
		return slice[T](v, i, n)
	}
	return scratch[T](w, s, n)
}

// store writes the memory that room returned to its place.
func store[T float](v view, i int, results []T) {
	if !stored[T](v) {
		narrow(v, i, results)
	}
}

// widen converts elements of v from element i on to T.
func widen[T float](dst []T, v view, i int) {
	n := len(dst)
	if n == 0 {
		return
	}
	f := single(dst)
	switch v.kind {
	case device.Float32:
		if f != nil {
			copy(f, slice[float32](v, i, n))
			return
		}
		convert(dst, slice[float32](v, i, n))
	case device.Float64:
		convert(dst, slice[float64](v, i, n))
	case device.BFloat16:
		if f != nil {
			simd.WidenBFloat16(f, slice[uint16](v, i, n))
			return
		}
		for j, bits := range slice[uint16](v, i, n) {
			dst[j] = T(device.BFloat16ToFloat32(bits))
		}
	case device.Float16:
		if f != nil {
			simd.WidenFloat16(f, slice[uint16](v, i, n))
			return
		}
		for j, bits := range slice[uint16](v, i, n) {
			dst[j] = T(device.Float16ToFloat32(bits))
		}
	case device.Int8:
		convert(dst, slice[int8](v, i, n))
	case device.UInt8:
		convert(dst, slice[uint8](v, i, n))
	case device.Int32:
		convert(dst, slice[int32](v, i, n))
	case device.Int64:
		convert(dst, slice[int64](v, i, n))
	}
}

func convert[D float, S float32 | float64 | int8 | uint8 | int32 | int64](dst []D, src []S) {
	for i, x := range src {
		dst[i] = D(x)
	}
}

// narrow converts T to v's type and stores it from element i on.
func narrow[T float](v view, i int, src []T) {
	n := len(src)
	if n == 0 {
		return
	}
	f := single(src)
	switch v.kind {
	case device.Float32:
		if f != nil {
			copy(slice[float32](v, i, n), f)
			return
		}
		convert(slice[float32](v, i, n), src)
	case device.Float64:
		convert(slice[float64](v, i, n), src)
	case device.BFloat16:
		if f != nil {
			simd.NarrowBFloat16(slice[uint16](v, i, n), f)
			return
		}
		for j, x := range src {
			slice[uint16](v, i, n)[j] = device.Float32ToBFloat16(oddRound(float64(x)))
		}
	case device.Float16:
		if f != nil {
			simd.NarrowFloat16(slice[uint16](v, i, n), f)
			return
		}
		for j, x := range src {
			slice[uint16](v, i, n)[j] = device.Float32ToFloat16(oddRound(float64(x)))
		}
	case device.Int8:
		clamp(slice[int8](v, i, n), src, math.MinInt8, math.MaxInt8)
	case device.UInt8:
		clamp(slice[uint8](v, i, n), src, 0, math.MaxUint8)
	case device.Int32:
		clamp(slice[int32](v, i, n), src, math.MinInt32, math.MaxInt32)
	case device.Int64:
		clamp(slice[int64](v, i, n), src, math.MinInt64, math.MaxInt64)
	}
}

// oddRound converts to float32 so that rounding again, to half precision,
// gives what rounding once would have: inexact values get an odd last bit.
func oddRound(x float64) float32 {
	f := float32(x)
	if float64(f) == x || math.IsNaN(x) || math.IsInf(float64(f), 0) {
		return f
	}
	bits := math.Float32bits(f)
	if math.Abs(float64(f)) > math.Abs(x) {
		bits--
	}
	return math.Float32frombits(bits | 1)
}

func clamp[I int8 | uint8 | int32 | int64, T float](dst []I, src []T, low, high float64) {
	for i, x := range src {
		switch f := float64(x); {
		case f != f:
			dst[i] = 0
		case f <= low:
			dst[i] = I(int64(low))
		case f >= high: // for int64, high rounds to 2^63, one too many
			dst[i] = largest[I]()
		default:
			dst[i] = I(int64(f))
		}
	}
}

func largest[I int8 | uint8 | int32 | int64]() I {
	ones := ^I(0)
	if ones > 0 {
		return ones
	}
	var x I
	return I(uint64(1)<<(8*unsafe.Sizeof(x)-1) - 1)
}

// indexes reads Int32 or Int64 element i of v.
func (v view) index(i int) int64 {
	if v.kind == device.Int32 {
		return int64(slice[int32](v, i, 1)[0])
	}
	return slice[int64](v, i, 1)[0]
}

// number reads one element of v as float64.
func (v view) number(i int) float64 {
	var one [1]float64
	widen(one[:], v, i)
	return one[0]
}

// setNumber writes one element of v.
func (v view) setNumber(i int, x float64) {
	one := [1]float64{x}
	narrow(v, i, one[:])
}

// viewOf returns a view of numbers in scratch.
func viewOf[T float](x []T) view {
	kind := device.Float64
	if narrowFloat[T]() {
		kind = device.Float32
	}
	if len(x) == 0 {
		return view{kind: kind}
	}
	return view{unsafe.Pointer(&x[0]), len(x), kind}
}
