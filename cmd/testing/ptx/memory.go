package ptx

import (
	"cmp"
	"slices"
	"unsafe"
)

// Memory is the device's memory: the areas that kernels may use, at their addresses in
// this process. Its zero value has none.
type Memory struct {
	areas []*area // in the order of their addresses, none over another
	last  *area   // that was asked for
	dirty []*area // of which a launch has notes
}

// area is memory that was allocated at once.
type area struct {
	from   uint64
	bytes  []byte
	fresh  []bool   // by byte: nothing was written; nil if all was
	pages  [][]cell // notes of the launch; a page that nothing has used is nil
	pieces []int    // the pages that are not nil
}

// Add lets kernels use memory. The areas that it overlaps are no more. Kernels must not
// read fresh memory before they write it.
func (m *Memory) Add(bytes []byte, fresh bool) {
	if len(bytes) == 0 {
		return
	}
	added := &area{from: addressOf(bytes), bytes: bytes}
	if fresh {
		added.fresh = make([]bool, len(bytes))
		for i := range added.fresh {
			added.fresh[i] = true
		}
	}
	m.Remove(added.from, len(bytes))
	at, _ := m.find(added.from)
	m.areas = slices.Insert(m.areas, at, added)
}

// Remove takes memory away: the areas that have a part of it.
func (m *Memory) Remove(from uint64, bytes int) {
	m.last = nil
	m.areas = slices.DeleteFunc(m.areas, func(a *area) bool { return a.from < from+uint64(bytes) && from < a.end() })
}

// Copied says that others than kernels have written memory: a copy of what is in another
// place, and was perhaps never written either.
func (m *Memory) Copied(to, from []byte) {
	for len(to) > 0 {
		part := to
		was := m.freshness(&part)
		source := from[:min(len(from), len(part))]
		is := m.freshness(&source)
		if len(from) > 0 {
			part = part[:len(source)]
		}
		for i := range part {
			if was != nil {
				was[i] = is != nil && is[i]
			}
		}
		to, from = to[len(part):], from[min(len(from), len(part)):]
	}
}

// freshness returns what is known of the beginning of some memory, which it cuts to the
// area that this is in.
func (m *Memory) freshness(memory *[]byte) []bool {
	if len(*memory) == 0 {
		return nil
	}
	from := addressOf(*memory)
	a := m.at(from)
	if a == nil {
		return nil
	}
	*memory = (*memory)[:min(uint64(len(*memory)), a.end()-from)]
	if a.fresh == nil {
		return nil
	}
	return a.fresh[from-a.from:]
}

func addressOf(bytes []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(bytes)))) }

func (a *area) end() uint64 { return a.from + uint64(len(a.bytes)) }

// find returns the place of the first area that ends behind an address.
func (m *Memory) find(address uint64) (int, bool) {
	return slices.BinarySearchFunc(m.areas, address, func(a *area, address uint64) int {
		if a.end() <= address {
			return -1
		}
		return cmp.Compare(max(a.from, address), address)
	})
}

// at returns the area that an address is in, nil if it is in none.
func (m *Memory) at(address uint64) *area {
	if a := m.last; a != nil && address-a.from < uint64(len(a.bytes)) {
		return a
	}
	i, found := m.find(address)
	if !found {
		return nil
	}
	m.last = m.areas[i]
	return m.last
}

// Area returns the memory that an address is in, nil if it is in none.
func (m *Memory) Area(address uint64) []byte {
	if a := m.at(address); a != nil {
		return a.bytes
	}
	return nil
}

// pageCells are the words of a page of notes.
const pageCells = 1 << 10

// cell returns the note of the word at an offset. An area may begin within a word.
func (a *area) cell(m *Memory, offset uint64) *cell {
	word := (a.from%4 + offset) / 4
	page := int(word / pageCells)
	if a.pages == nil {
		a.pages = make([][]cell, (len(a.bytes)+3)/4/pageCells+1)
	}
	if a.pages[page] == nil {
		if len(a.pieces) == 0 {
			m.dirty = append(m.dirty, a)
		}
		a.pieces = append(a.pieces, page)
		a.pages[page] = make([]cell, pageCells)
	}
	return &a.pages[page][word%pageCells]
}

// forget drops the notes of a launch.
func (m *Memory) forget() {
	for _, a := range m.dirty {
		for _, page := range a.pieces {
			a.pages[page] = nil
		}
		a.pieces = a.pieces[:0]
	}
	m.dirty = m.dirty[:0]
}
