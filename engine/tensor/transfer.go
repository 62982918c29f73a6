package tensor

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/memtop/memtop/engine/device"
)

// Number is the element type of host slices.
type Number interface {
	~float32 | ~float64 | ~int32 | ~int64 | ~int | ~uint8 | ~int8
}

// From returns a tensor with the given elements in order, converted to dtype on
// the host. It panics when their number is not the shape's.
func From[T Number](d *Device, values []T, shape Shape, dtype device.DType, tag Tag) *Tensor {
	if len(values) != shape.Size() {
		panic(fmt.Sprintf("tensor: %d values for shape %v", len(values), shape))
	}
	t := New(d, shape, dtype, tag)
	Write(t, values)
	return t
}

// Write replaces all elements of a contiguous tensor by values, converted to
// its type on the host. It counts as a write in place.
func Write[T Number](t *Tensor, values []T) {
	if len(values) != t.Size() {
		panic(fmt.Sprintf("tensor: %d values for %v", len(values), t))
	}
	raw := make([]byte, 0, t.Bytes())
	for _, v := range values {
		raw = appendNumber(raw, t.dtype, float64(v), int64(v))
	}
	t.Upload(raw)
}

// Upload replaces all elements of a contiguous tensor by raw bytes, in the
// processor's order, little-endian. It counts as a write in place.
func (t *Tensor) Upload(raw []byte) {
	if int64(len(raw)) != t.Bytes() {
		panic(fmt.Sprintf("tensor: %d bytes for %v", len(raw), t))
	}
	t.storage.Wrote()
	if d := t.Device(); d.group != nil {
		from, n := d.part(t.Size(), d.group.Rank())
		raw = raw[int64(from)*t.dtype.Size():][:int64(n)*t.dtype.Size()]
	}
	if len(raw) > 0 {
		t.Device().backend.Upload(t.Array().Buffer(), raw)
	}
}

// addressable is a backend whose memory is the processor's.
type addressable interface {
	Bytes(at device.Buffer) []byte
}

// Raw returns the memory of all elements of a contiguous tensor on a host, to be read
// and written while there is a handle on it. Neither counts as a write in place.
func (t *Tensor) Raw() []byte {
	return t.Device().backend.(addressable).Bytes(t.Array().Buffer())
}

// Download waits for the device and returns the bytes of all elements in order,
// little-endian. It fails with the first failure of the device.
func (t *Tensor) Download() []byte {
	raw := make([]byte, t.Bytes())
	if len(raw) == 0 {
		return raw
	}
	if whole := t.Device().Whole(); whole != t.Device() {
		t = t.To(whole)
		defer t.Release()
	}
	c := Contiguous(t, Tag{Role: "download"})
	defer c.Release()
	fail(t.Device().backend.Download(raw, c.Array().Buffer()), "read %v", t)
	return raw
}

// Floats waits for the device and returns all elements in order. It fails with
// the first failure of the device.
func (t *Tensor) Floats() []float64 {
	raw, size := t.Download(), int(t.dtype.Size())
	values := make([]float64, t.Size())
	for i := range values {
		values[i] = number(raw[i*size:], t.dtype)
	}
	return values
}

// Item waits for the device and returns the only element. It panics when there
// are others, and fails with the first failure of the device.
func (t *Tensor) Item() float64 {
	if t.Size() != 1 {
		panic(fmt.Sprintf("tensor: %v is not one number", t))
	}
	return t.Floats()[0]
}

// Pending is the value of a one-element tensor, on its way to the host. It
// belongs to the goroutine of the device.
type Pending struct {
	tensor  string // in words, for failures
	dtype   device.DType
	fetched device.Fetched // nil once the number is here
	value   float64
	err     error
}

// Fetch begins to read the only element, and does not wait for the device. The
// tensor may be released meanwhile. It panics when there are other elements.
func (t *Tensor) Fetch() *Pending {
	if t.Size() != 1 {
		panic(fmt.Sprintf("tensor: %v is not one number", t))
	}
	return &Pending{tensor: t.String(), dtype: t.dtype, fetched: t.Device().backend.Fetch(t.Array().Buffer())}
}

// Ready reports, without waiting, whether Wait would return at once.
func (p *Pending) Ready() bool { return p.fetched == nil || p.fetched.Ready() }

// Wait waits for the number, which later calls return again. It fails with the
// first failure of the device.
func (p *Pending) Wait() float64 {
	if p.fetched != nil {
		var raw [8]byte
		p.err = p.fetched.Wait(raw[:p.dtype.Size()])
		p.value, p.fetched = number(raw[:], p.dtype), nil
	}
	fail(p.err, "read %s", p.tensor)
	return p.value
}

func appendNumber(raw []byte, dtype device.DType, f float64, i int64) []byte {
	order := binary.LittleEndian
	switch dtype {
	case device.Float32:
		return order.AppendUint32(raw, math.Float32bits(float32(f)))
	case device.Float64:
		return order.AppendUint64(raw, math.Float64bits(f))
	case device.BFloat16:
		return order.AppendUint16(raw, device.Float32ToBFloat16(float32(f)))
	case device.Float16:
		return order.AppendUint16(raw, device.Float32ToFloat16(float32(f)))
	case device.Int8, device.UInt8:
		return append(raw, byte(i))
	case device.Int32:
		return order.AppendUint32(raw, uint32(i))
	case device.Int64:
		return order.AppendUint64(raw, uint64(i))
	}
	panic(fmt.Sprintf("tensor: numbers of type %v", dtype))
}

func number(raw []byte, dtype device.DType) float64 {
	order := binary.LittleEndian
	switch dtype {
	case device.Float32:
		return float64(math.Float32frombits(order.Uint32(raw)))
	case device.Float64:
		return math.Float64frombits(order.Uint64(raw))
	case device.BFloat16:
		return float64(device.BFloat16ToFloat32(order.Uint16(raw)))
	case device.Float16:
		return float64(device.Float16ToFloat32(order.Uint16(raw)))
	case device.Int8:
		return float64(int8(raw[0]))
	case device.UInt8:
		return float64(raw[0])
	case device.Int32:
		return float64(int32(order.Uint32(raw)))
	case device.Int64:
		return float64(int64(order.Uint64(raw)))
	}
	panic(fmt.Sprintf("tensor: numbers of type %v", dtype))
}
