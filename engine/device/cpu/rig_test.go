package cpu

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device"
)

// rig is a device with memory to put operands in, and a source of numbers.
type rig struct {
	*Device
	t    testing.TB
	next uint64
	end  uint64
	rand *rand.Rand
}

const rigBytes = 256 << 20

func newRig(t testing.TB, threads int) *rig {
	t.Helper()
	d := open(t, Options{Capacity: rigBytes, Threads: threads})
	addr, err := d.Malloc(rigBytes)
	fatal.If(t, err)
	return &rig{d, t, addr, addr + rigBytes, rand.New(rand.NewPCG(7, 11))}
}

// array returns n fresh elements, filled with values that must not be read.
func (r *rig) array(d device.DType, n int) device.Array {
	r.t.Helper()
	a := device.Array{Addr: r.next, Len: n, DType: d}
	r.next += (uint64(n)*uint64(d.Size()) + 1023) &^ 511
	if r.next > r.end {
		r.t.Fatal("the rig has no memory left")
	}
	poison := math.NaN()
	if !d.IsFloat() {
		poison = 77
	}
	values := make([]float64, n)
	for i := range values {
		values[i] = poison
	}
	r.set(a, values)
	return a
}

func (r *rig) buffer(bytes int64) device.Buffer {
	return r.array(device.UInt8, int(bytes)+1).Buffer()
}

func (r *rig) put(d device.DType, values ...float64) device.Array {
	r.t.Helper()
	a := r.array(d, len(values))
	r.set(a, values)
	return a
}

// normals returns n random numbers as they are stored in an array.
func (r *rig) normals(d device.DType, n int) device.Array {
	r.t.Helper()
	values := make([]float64, n)
	for i := range values {
		values[i] = r.rand.NormFloat64()
	}
	return r.put(d, values...)
}

func (r *rig) set(a device.Array, values []float64) {
	r.t.Helper()
	bytes := make([]byte, 0, int64(a.Len)*a.DType.Size())
	for _, v := range values {
		bytes = appendNumber(bytes, a.DType, v)
	}
	r.Upload(a.Buffer(), bytes)
}

// bytes returns what a holds, for comparing bits.
func (r *rig) bytes(a device.Array) []byte {
	r.t.Helper()
	bytes := make([]byte, int64(a.Len)*a.DType.Size())
	fatal.If(r.t, r.Download(bytes, a.Buffer()))
	return bytes
}

func (r *rig) get(a device.Array) []float64 {
	r.t.Helper()
	bytes := r.bytes(a)
	values := make([]float64, a.Len)
	size := int(a.DType.Size())
	for i := range values {
		values[i] = numberOf(bytes[i*size:], a.DType)
	}
	return values
}

var little = binary.LittleEndian

func appendNumber(b []byte, d device.DType, v float64) []byte {
	switch d {
	case device.Float32:
		return little.AppendUint32(b, math.Float32bits(float32(v)))
	case device.Float64:
		return little.AppendUint64(b, math.Float64bits(v))
	case device.BFloat16:
		return little.AppendUint16(b, device.Float32ToBFloat16(float32(v)))
	case device.Float16:
		return little.AppendUint16(b, device.Float32ToFloat16(float32(v)))
	case device.Int32:
		return little.AppendUint32(b, uint32(int32(v)))
	case device.Int64:
		return little.AppendUint64(b, uint64(int64(v)))
	default:
		return append(b, byte(int64(v)))
	}
}

func numberOf(b []byte, d device.DType) float64 {
	switch d {
	case device.Float32:
		return float64(math.Float32frombits(little.Uint32(b)))
	case device.Float64:
		return math.Float64frombits(little.Uint64(b))
	case device.BFloat16:
		return float64(device.BFloat16ToFloat32(little.Uint16(b)))
	case device.Float16:
		return float64(device.Float16ToFloat32(little.Uint16(b)))
	case device.Int32:
		return float64(int32(little.Uint32(b)))
	case device.Int64:
		return float64(int64(little.Uint64(b)))
	case device.Int8:
		return float64(int8(b[0]))
	default:
		return float64(b[0])
	}
}

// floats are the types that every kernel takes.
var floats = []device.DType{device.Float32, device.Float64, device.BFloat16, device.Float16}

// tolerance is the relative error that storing a result in d may bring, with
// room for the arithmetic before it.
func tolerance(d device.DType) float64 {
	return map[device.DType]float64{
		device.Float32: 2e-5, device.Float64: 1e-11, device.BFloat16: 0x1p-8, device.Float16: 0x1p-10,
	}[d]
}

// near compares with a mixed absolute and relative error.
func near(t testing.TB, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		off := math.Abs(got[i] - want[i])
		if !(off <= tolerance*(1+math.Abs(want[i]))) && !(got[i] == want[i]) && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
			t.Fatalf("%s: element %d of %d: got %v, want %v", what, i, len(got), got[i], want[i])
		}
	}
}

// numericalGradient returns the derivatives of Σ weights·f(x) by x, by central
// differences in float64.
func numericalGradient(x, weights []float64, f func(x []float64) []float64) []float64 {
	const step = 1e-5
	gradient := make([]float64, len(x))
	x = append([]float64(nil), x...)
	for i := range x {
		keep := x[i]
		x[i] = keep + step
		up := weighted(f(x), weights)
		x[i] = keep - step
		down := weighted(f(x), weights)
		x[i] = keep
		gradient[i] = (up - down) / (2 * step)
	}
	return gradient
}

func weighted(y, weights []float64) float64 {
	total := 0.0
	for i := range y {
		total += y[i] * weights[i]
	}
	return total
}
