package cudatest

import (
	"github.com/memtop/memtop/engine/device/cuda"
)

// piece is the granularity of mapped memory.
const piece = 2 << 20

// mapping is address ranges and the memory behind them.
type mapping struct {
	reserved ranges
	pieces   map[uint64]int64 // made by cuMemCreate: their bytes
	mapped   map[uint64]*mapped
}

// mapped is a piece at its address.
type mapped struct {
	size    int64
	handle  uint64
	allowed bool
}

func newMapping() mapping {
	return mapping{reserved: make(ranges), pieces: make(map[uint64]int64), mapped: make(map[uint64]*mapped)}
}

// find returns n bytes of a reserved range, all of which may be used.
func (m *mapping) find(addr uintptr, n int) []byte {
	b := m.reserved.find(addr, n)
	if b == nil {
		return nil
	}
	for at := uint64(addr) / piece * piece; at < uint64(addr)+uint64(n); at += piece {
		if p := m.mapped[at]; p == nil || !p.allowed {
			return nil
		}
	}
	return b
}

func (d *Driver) reserve(a []uintptr) cuda.Result {
	n := int(a[1])
	if d.options.NoMapping || n%piece != 0 {
		return invalidValue
	}
	all := make([]byte, n+piece)
	skip := -int(address(all)) & (piece - 1)
	b := all[skip : skip+n : skip+n]
	d.mapping.reserved[uint64(address(b))] = b
	put64(a[0], uint64(address(b)))
	return success
}

func (d *Driver) unreserve(a []uintptr) cuda.Result {
	b, ok := d.mapping.reserved[uint64(a[0])]
	if !ok || len(b) != int(a[1]) {
		return invalidValue
	}
	for at := range d.mapping.mapped {
		if at >= uint64(a[0]) && at < uint64(a[0])+uint64(a[1]) {
			return invalidValue
		}
	}
	delete(d.mapping.reserved, uint64(a[0]))
	return success
}

func (d *Driver) create(a []uintptr) cuda.Result {
	n := int64(a[1])
	pinned, device := get32(a[2], 0) == 1, get32(a[2], 2) == 1
	if !pinned || !device || n%piece != 0 || int(get32(a[2], 3)) >= d.options.Devices {
		return invalidValue
	}
	if d.used+n > d.options.Capacity {
		return outOfMemory
	}
	d.used += n
	h := d.handle()
	d.mapping.pieces[h] = n
	put64(a[0], h)
	return success
}

// releasePiece gives a piece back; its memory is free once it is also unmapped.
// The caller here unmaps first.
func (d *Driver) releasePiece(a []uintptr) cuda.Result {
	n, ok := d.mapping.pieces[uint64(a[0])]
	if !ok {
		return invalidValue
	}
	for _, m := range d.mapping.mapped {
		if m.handle == uint64(a[0]) {
			return invalidValue
		}
	}
	d.used -= n
	delete(d.mapping.pieces, uint64(a[0]))
	return success
}

func (d *Driver) mapPiece(a []uintptr) cuda.Result {
	n, ok := d.mapping.pieces[uint64(a[3])]
	if !ok || n != int64(a[1]) || d.mapping.reserved.find(a[0], int(n)) == nil || d.mapping.mapped[uint64(a[0])] != nil {
		return invalidValue
	}
	d.mapping.mapped[uint64(a[0])] = &mapped{size: n, handle: uint64(a[3])}
	return success
}

func (d *Driver) unmapPiece(a []uintptr) cuda.Result {
	m := d.mapping.mapped[uint64(a[0])]
	if m == nil || m.size != int64(a[1]) {
		return invalidValue
	}
	delete(d.mapping.mapped, uint64(a[0]))
	d.machine.Memory.Remove(uint64(a[0]), int(m.size))
	return success
}

func (d *Driver) allow(a []uintptr) cuda.Result {
	if a[3] != 1 || get32(a[2], 0) != 1 || get32(a[2], 2) != 3 {
		return invalidValue
	}
	for at := uint64(a[0]); at < uint64(a[0])+uint64(a[1]); at += piece {
		m := d.mapping.mapped[at]
		if m == nil {
			return invalidValue
		}
		m.allowed = true
		d.machine.Memory.Add(d.mapping.find(uintptr(at), piece), true)
	}
	return success
}
