package ptx

import "unsafe"

// sharedFrom is the first address of shared memory that belongs to the kernel. On the
// machine it is only known to be a multiple of 128.
const sharedFrom = 128

// at returns where an address of a thread lies, and notes the access. It ends the launch
// if the thread must not use it.
func (w *warp) at(in *instruction, i int, address uint64) unsafe.Pointer {
	where := in.access.space
	if where == general {
		where, address = placed(address)
	}
	bytes := in.access.bytes
	if address%bytes != 0 {
		w.fault(in, i, "%#x is not a multiple of %d", address, bytes)
	}
	switch where {
	case shared:
		return w.inShared(in, i, address, bytes)
	case local:
		return w.inLocal(in, i, address, bytes)
	case param:
		return w.inside(in, i, w.block.launch.Args, address, bytes)
	case constants:
		return w.inside(in, i, w.program.data, address, bytes)
	default:
		return w.inGlobal(in, i, address, bytes)
	}
}

// placed tells the space of a general address, and the address in it.
func placed(address uint64) (space, uint64) {
	switch address >> 60 {
	case 1:
		return shared, address & (1<<60 - 1)
	case 2:
		return local, address & (1<<60 - 1)
	}
	return global, address
}

func (w *warp) inside(in *instruction, i int, memory []byte, address, bytes uint64) unsafe.Pointer {
	if address >= uint64(len(memory)) || bytes > uint64(len(memory))-address || in.access.writes {
		w.fault(in, i, "%#x is not in the %d bytes that may be read", address, len(memory))
	}
	return unsafe.Pointer(&memory[address])
}

func (w *warp) inLocal(in *instruction, i int, address, bytes uint64) unsafe.Pointer {
	size := uint64(w.program.local)
	if address >= size || bytes > size-address {
		w.fault(in, i, "%#x is not in the %d bytes of the thread", address, size)
	}
	at := uint64(i)*size + address
	// Single bytes may be those between a structure's fields, which are copied, too.
	for k := at; k < at+bytes; k++ {
		if in.access.writes {
			w.touched[k] = true
		} else if bytes > 1 && !w.touched[k] {
			w.fault(in, i, "the thread reads %#x of its own memory, and has not written there", address)
		}
	}
	return unsafe.Pointer(&w.local[at])
}

func (w *warp) inShared(in *instruction, i int, address, bytes uint64) unsafe.Pointer {
	b := w.block
	if address < sharedFrom || address >= uint64(len(b.shared)) || bytes > uint64(len(b.shared))-address {
		w.fault(in, i, "%#x is not in the block's %d bytes of shared memory", address, len(b.shared)-sharedFrom)
	}
	at := unsafe.Pointer(&b.shared[address])
	for k := uint64(0); k < bytes; k += 4 {
		c := &b.cells[(address+k)/4]
		if c.bytes == nil && w.known(in, i, c) {
			continue
		}
		written, race := w.visit(in.access.writes, c, w.stamp(in, i), (address+k)%4, min(bytes, 4))
		if race.thread != 0 {
			w.race(in, i, race, at)
		}
		if !written && !in.access.writes {
			w.fault(in, i, "it reads %#x of shared memory, where nothing was written", address)
		}
	}
	return at
}

func (w *warp) inGlobal(in *instruction, i int, address, bytes uint64) unsafe.Pointer {
	m := &w.block.launch.machine.Memory
	a := m.at(address)
	if a == nil {
		w.fault(in, i, "%#x is not the device's memory", address)
	}
	offset := address - a.from
	// The memory of an array comes in larger units, so its last word may be read.
	if rest := uint64(len(a.bytes)) - offset; bytes > rest && (in.access.writes || bytes > 4) {
		w.fault(in, i, "%#x and %d bytes more end behind an allocation of %d bytes", address, bytes, len(a.bytes))
	}
	at, by := unsafe.Pointer(&a.bytes[offset]), w.stamp(in, i)
	for k := uint64(0); k < bytes; k += 4 {
		if _, race := w.visit(in.access.writes, a.cell(m, offset+k), by, (address+k)%4, min(bytes, 4)); race.thread != 0 {
			w.race(in, i, race, at)
		}
	}
	if a.fresh != nil {
		w.notice(in, i, a, offset, bytes)
	}
	if in.access.strong {
		w.order(in, i, address)
	}
	return at
}

// notice checks that what is read was written.
func (w *warp) notice(in *instruction, i int, a *area, offset, bytes uint64) {
	for k := offset; k < min(offset+bytes, uint64(len(a.fresh))); k++ {
		if in.access.writes {
			a.fresh[k] = false
		} else if a.fresh[k] {
			w.fault(in, i, "it reads %#x, byte %d of %d of an allocation, where nothing was written", a.from+k, k, len(a.bytes))
		}
	}
}
