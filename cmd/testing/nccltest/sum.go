package nccltest

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/memtop/memtop/engine/device"
)

// sum adds the values of the processes, in the order of their ranks. It rounds
// after each addition.
func sum(kind device.DType, all [][]byte) []byte {
	total := append([]byte(nil), all[0]...)
	size := int(kind.Size())
	for _, b := range all[1:] {
		for i := 0; i < len(total); i += size {
			add(kind, total[i:], b[i:])
		}
	}
	return total
}

func add(kind device.DType, to, b []byte) {
	e := binary.LittleEndian
	switch kind {
	case device.Float32:
		e.PutUint32(to, math.Float32bits(math.Float32frombits(e.Uint32(to))+math.Float32frombits(e.Uint32(b))))
	case device.Float64:
		e.PutUint64(to, math.Float64bits(math.Float64frombits(e.Uint64(to))+math.Float64frombits(e.Uint64(b))))
	case device.Float16:
		e.PutUint16(to, device.Float32ToFloat16(device.Float16ToFloat32(e.Uint16(to))+device.Float16ToFloat32(e.Uint16(b))))
	case device.BFloat16:
		e.PutUint16(to, device.Float32ToBFloat16(device.BFloat16ToFloat32(e.Uint16(to))+device.BFloat16ToFloat32(e.Uint16(b))))
	default:
		panic(fmt.Sprintf("nccltest: sums of %v", kind))
	}
}
