package mpi

import (
	"unsafe"

	"github.com/memtop/memtop/engine/device"
)

// addHalves makes the sums of half precision, which MPI does not have. Each sum of
// two is rounded.
func (m *group) addHalves() error {
	m.halves = make(map[device.DType]uintptr)
	for t, f := range map[device.DType]func(a, b uint16) uint16{
		device.Float16: func(a, b uint16) uint16 {
			return device.Float32ToFloat16(device.Float16ToFloat32(a) + device.Float16ToFloat32(b))
		},
		device.BFloat16: func(a, b uint16) uint16 {
			return device.Float32ToBFloat16(device.BFloat16ToFloat32(a) + device.BFloat16ToFloat32(b))
		},
	} {
		const commutes = 1
		m.words.sum = 0 // a handle may have 32 bits only
		if err := m.do(mpiOperation, m.library.callback(add(f)), commutes, address(&m.words.sum)); err != nil {
			return err
		}
		m.halves[t] = m.words.sum
	}
	return nil
}

// add returns what adds an array to another, element by element.
func add(f func(a, b uint16) uint16) func(in, sum, n uintptr) {
	return func(in, sum, n uintptr) {
		length := int(*(*int32)(pointer(n)))
		from, to := unsafe.Slice((*uint16)(pointer(in)), length), unsafe.Slice((*uint16)(pointer(sum)), length)
		for i := range to {
			to[i] = f(from[i], to[i])
		}
	}
}

// pointer returns an address that the library gave.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// sumOf returns the library's name of the sum of an array's elements.
func (m *group) sumOf(a device.Array) uintptr {
	if sum, ok := m.halves[a.DType]; ok {
		return sum
	}
	return m.is.sum
}
