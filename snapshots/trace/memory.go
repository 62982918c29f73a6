package trace

import "slices"

// memory is a device's memory at one moment: the blocks of every segment form a
// chain and are found by their addresses.
type memory struct {
	mapping
	device int32
	links  []link
	unused []int32
	at     addressTable // by address of a block: its link
}

// link is a block and its neighbours in the segment.
type link struct {
	Block
	prev, next int32
}

const none int32 = -1

const (
	gaveBlock   = GaveAddr | GaveSize | GaveRequested | GaveState
	gaveSegment = GaveAddr | GaveSize | GaveRequested | GaveAllocated | GaveActive | GaveStream | GaveType |
		GavePool | GaveExpandable | GaveDevice
)

func newMemory(device int) memory { return memory{mapping: newMapping(), device: int32(device)} }

// used returns how many blocks there are.
func (m *memory) used() int { return len(m.links) - len(m.unused) }

// reserve makes room for n more blocks. With a large state, lists that grow step
// by step leave more garbage than their final size.
func (m *memory) reserve(n int) {
	if n > 0 {
		m.links = slices.Grow(m.links, n)
		m.at.reserve(n)
	}
}

// add puts a block behind another in its chain.
func (m *memory) add(b Block, prev, next int32) int32 {
	i := int32(len(m.links))
	if n := len(m.unused); n > 0 {
		i, m.unused = m.unused[n-1], m.unused[:n-1]
		m.links[i] = link{b, prev, next}
	} else {
		m.links = append(m.links, link{b, prev, next})
	}
	if prev != none {
		m.links[prev].next = i
	}
	if next != none {
		m.links[next].prev = i
	}
	m.at.put(b.Addr, AllocationID(i))
	return i
}

// take removes a block from its chain.
func (m *memory) take(i int32) {
	l := &m.links[i]
	if l.prev != none {
		m.links[l.prev].next = l.next
	}
	if l.next != none {
		m.links[l.next].prev = l.prev
	}
	m.at.remove(l.Addr)
	l.Block = Block{}
	m.unused = append(m.unused, i)
}

// find returns the block that begins at the address.
func (m *memory) find(addr uint64) (int32, bool) {
	at, ok := m.at.find(addr)
	if !ok {
		return none, false
	}
	return int32(m.at.slots[at].id), true
}

// holder returns the block of a segment that holds the address.
func (m *memory) holder(s *stretch, addr uint64) int32 {
	i, _ := m.holderWithin(s, addr, len(m.links))
	return i
}

// holderWithin is holder for a segment of at most so many blocks, and reports
// whether it was found.
func (m *memory) holderWithin(s *stretch, addr uint64, most int) (int32, bool) {
	i := s.head
	for range most {
		next := m.links[i].next
		if next == none || m.links[next].Addr > addr {
			return i, true
		}
		i = next
	}
	return i, false
}

// inactive returns a free block. requested is the size that the program asked for
// when it last used the block. PyTorch keeps that size too.
func inactive(addr uint64, size, requested int64) Block {
	return Block{Addr: addr, Size: size, Requested: requested, Stack: EmptyStack, Given: gaveBlock}
}

// cut shortens block i to size bytes; the rest becomes a free block, which is
// returned.
func (m *memory) cut(i int32, size int64) int32 {
	b := &m.links[i]
	rest := inactive(b.Addr+uint64(size), b.Size-size, b.Requested)
	b.Size = size
	return m.add(rest, i, b.next)
}

// join joins free block i with its free neighbours, and returns the joined block.
// It has the requested size that block i remembers.
func (m *memory) join(i int32) int32 {
	if p := m.links[i].prev; p != none && m.links[p].State == Inactive {
		b := m.links[i].Block
		m.take(i)
		m.links[p].Block = inactive(m.links[p].Addr, m.links[p].Size+b.Size, b.Requested)
		i = p
	}
	if n := m.links[i].next; n != none && m.links[n].State == Inactive {
		m.links[i].Size += m.links[n].Size
		m.take(n)
	}
	return i
}
