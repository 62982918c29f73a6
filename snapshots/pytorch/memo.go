package pytorch

import "github.com/memtop/memtop/snapshots/trace"

const (
	memoShift = 13
	memoPage  = 1 << memoShift
)

// memo is the pickle's table of values for reuse. A value takes four bytes, its
// tag above its id: every dict has an entry, and most are never read. Larger
// values are kept in aside. Pages are allocated at their first use, so a lone
// entry at a huge index costs one page.
type memo struct {
	pages [][]uint32
	aside []value
	next  uint32   // index that MEMOIZE assigns
	above uint64   // no entry from this index on is set
	inUse int64    // pages allocated
	slab  []uint32 // of them, what has no index yet
	more  trace.Prepared[uint32]
}

// bytes returns the memo's memory, with the second copy of its lists while they
// grow.
func (m *memo) bytes() int64 {
	return m.inUse*memoPage*4 + 2*(int64(cap(m.pages))*24+int64(cap(m.aside))*valueBytes)
}

const valueBytes = 16

// An entry is a tag above idBits of id, or one of these.
const (
	idBits      = 27
	idMask      = 1<<idBits - 1
	memoUnset   = 0
	memoAside   = 30 << idBits // the id indexes aside
	memoUnbound = 31 << idBits // plus 1 for a dict
)

// pack returns v as a memo entry.
func (m *memo) pack(v value) uint32 {
	switch {
	case v.tag == tagList && v.id == 0:
		return memoUnbound
	case v.tag == tagDict && v.id == 0:
		return memoUnbound | 1
	case v.tag >= tagString && v.id <= idMask:
		return uint32(v.tag)<<idBits | v.id
	case len(m.aside) <= idMask:
		m.aside = append(m.aside, v)
		return memoAside | uint32(len(m.aside)-1)
	default:
		return memoUnset // asking for it will fail
	}
}

// set stores an entry and reports whether the index was in use.
func (m *memo) set(at, entry uint32) (used bool) {
	page := int(at >> memoShift)
	for page >= len(m.pages) {
		m.pages = append(m.pages, nil)
	}
	if m.pages[page] == nil {
		m.pages[page] = m.newPage()
	}
	slot := &m.pages[page][at&(memoPage-1)]
	used = *slot != memoUnset
	*slot = entry
	m.above = max(m.above, uint64(at)+1)
	return used
}

// newPage returns memory for a page. Once there are many they are allocated together:
// what comes free of them together is of more use.
func (m *memo) newPage() []uint32 {
	const few, together = 16, 64
	switch {
	case len(m.slab) > 0:
	case m.inUse < few:
		m.slab = make([]uint32, memoPage)
		m.inUse++
	default:
		m.slab = m.more.Take(together * memoPage)
		m.inUse += together
	}
	page := m.slab[:memoPage:memoPage]
	m.slab = m.slab[memoPage:]
	return page
}

// unused reports whether the next n entries are, and their pages exist: memory is
// counted where an entry is set.
func (m *memo) unused(n int) bool {
	first, last := int(m.next>>memoShift), int((m.next+uint32(n)-1)>>memoShift)
	return n == 0 || uint64(m.next) >= m.above && first <= last && last < len(m.pages) && m.pages[first] != nil && m.pages[last] != nil
}

// memoSelf stands for a record itself among the memo entries that it puts, because
// its number is not known yet.
const memoSelf = uint32(tagEvent)<<idBits | idMask

// append stores the next entries, which are unused and on two pages at most.
// memoSelf among them is the record.
func (m *memo) append(entries []uint32, record value) {
	for len(entries) > 0 {
		page := m.pages[m.next>>memoShift][m.next&(memoPage-1):]
		n := min(len(entries), len(page))
		page = page[:n]
		for i, entry := range entries[:n] {
			if entry == memoSelf {
				entry = m.pack(record)
			}
			page[i] = entry
		}
		m.next += uint32(n)
		entries = entries[n:]
	}
	m.above = max(m.above, uint64(m.next))
}

// get returns the value at an index. An unbound container comes with its
// index as identity.
func (m *memo) get(at uint32) (value, bool) {
	page := int(at >> memoShift)
	if page >= len(m.pages) || m.pages[page] == nil {
		return value{}, false
	}
	entry := m.pages[page][at&(memoPage-1)]
	switch {
	case entry == memoUnset:
		return value{}, false
	case entry >= memoUnbound:
		return value{tag: tagList + tag(entry&1), n: uint64(at) + 1}, true
	case entry >= memoAside:
		return m.aside[entry&idMask], true
	default:
		return value{tag: tag(entry >> idBits), id: entry & idMask}, true
	}
}

// plain is get for the entries that are just a tag and a number.
func (m *memo) plain(at uint32) (value, bool) {
	page := int(at >> memoShift)
	if page >= len(m.pages) || len(m.pages[page]) != memoPage {
		return value{}, false
	}
	entry := m.pages[page][at&(memoPage-1)]
	return value{tag: tag(entry >> idBits), id: entry & idMask}, entry-1 < memoAside-1
}
