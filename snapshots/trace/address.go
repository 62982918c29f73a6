package trace

// addressTable maps the addresses of open allocations to their ids: a hash
// table with linear probing and no tombstones, made for one put and one remove
// per allocation.
type addressTable struct {
	slots []addressSlot
	count int
	shift uint8
}

type addressSlot struct {
	addr uint64
	id   AllocationID
	used bool
}

// home spreads addresses, which share their low nine bits, by a multiplicative
// hash (Knuth, TAOCP 3, 6.4).
func (t *addressTable) home(addr uint64) uint64 { return addr * 0x9E3779B97F4A7C15 >> t.shift }

func (t *addressTable) find(addr uint64) (uint64, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	mask := uint64(len(t.slots) - 1)
	for at := t.home(addr); ; at = (at + 1) & mask {
		slot := &t.slots[at]
		if !slot.used {
			return at, false
		}
		if slot.addr == addr {
			return at, true
		}
	}
}

func (t *addressTable) has(addr uint64) bool {
	_, ok := t.find(addr)
	return ok
}

// put maps addr to id and returns what it was mapped to before.
func (t *addressTable) put(addr uint64, id AllocationID) (AllocationID, bool) {
	if 4*(t.count+1) > 3*len(t.slots) {
		t.grow()
	}
	at, ok := t.find(addr)
	old := t.slots[at].id
	t.slots[at] = addressSlot{addr, id, true}
	if !ok {
		t.count++
	}
	return old, ok
}

// remove removes addr and moves later slots of its run back, so that no probe
// meets a hole.
func (t *addressTable) remove(addr uint64) (AllocationID, bool) {
	hole, ok := t.find(addr)
	if !ok {
		return 0, false
	}
	id := t.slots[hole].id
	mask := uint64(len(t.slots) - 1)
	for at := (hole + 1) & mask; t.slots[at].used; at = (at + 1) & mask {
		if (at-t.home(t.slots[at].addr))&mask >= (at-hole)&mask {
			t.slots[hole] = t.slots[at]
			hole = at
		}
	}
	t.slots[hole] = addressSlot{}
	t.count--
	return id, true
}

func (t *addressTable) grow() { t.resize(max(1024, 2*len(t.slots))) }

// reserve makes room for n more addresses.
func (t *addressTable) reserve(n int) {
	size := max(1024, len(t.slots))
	for 4*(t.count+n) > 3*size {
		size *= 2
	}
	if size > len(t.slots) {
		t.resize(size)
	}
}

// resize gives the table another size, a power of two.
func (t *addressTable) resize(size int) {
	old := t.slots
	t.slots = make([]addressSlot, size)
	clear(t.slots) // otherwise put makes the system map the pages twice: at the first read and at the first write
	t.shift = 64
	for s := size; s > 1; s >>= 1 {
		t.shift--
	}
	for _, slot := range old {
		if slot.used {
			at, _ := t.find(slot.addr)
			t.slots[at] = slot
		}
	}
}
