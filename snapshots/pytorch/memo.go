package pytorch

const (
	memoShift = 13
	memoPage  = 1 << memoShift
)

// memo is the pickle's table of values to be used again. A value takes eight
// bytes: its tag above its id. Values that need more, numbers, live aside.
// Pages come as they are used, so a lone entry at a huge index costs one page.
type memo struct {
	pages [][]uint64
	aside []value
	next  uint32 // index that MEMOIZE gives
	inUse int64  // pages that are there
}

// bytes returns the memory that the memo takes.
func (m *memo) bytes() int64 {
	return m.inUse*memoPage*8 + int64(len(m.pages))*24 + int64(len(m.aside))*valueBytes
}

const (
	memoUnset   = 0
	memoAside   = uint64(0xFE) << 32
	memoUnbound = uint64(0xFF) << 32
)

// pack returns v as a memo entry for index at.
func (m *memo) pack(v value) uint64 {
	switch {
	case v.tag == tagList && v.id == 0:
		return memoUnbound
	case v.tag == tagDict && v.id == 0:
		return memoUnbound | 1
	case v.tag >= tagString:
		return uint64(v.tag)<<32 | uint64(v.id)
	default:
		m.aside = append(m.aside, v)
		return memoAside | uint64(len(m.aside)-1)
	}
}

// set stores an entry and reports whether the index was in use.
func (m *memo) set(at uint32, entry uint64) (used bool) {
	page := int(at >> memoShift)
	for page >= len(m.pages) {
		m.pages = append(m.pages, nil)
	}
	if m.pages[page] == nil {
		m.pages[page] = make([]uint64, memoPage)
		m.inUse++
	}
	slot := &m.pages[page][at&(memoPage-1)]
	used = *slot != memoUnset
	*slot = entry
	return used
}

// get returns the value at an index. An unbound container comes with its
// index as identity.
func (m *memo) get(at uint32) (value, bool) {
	page := int(at >> memoShift)
	if page >= len(m.pages) || m.pages[page] == nil {
		return value{}, false
	}
	entry := m.pages[page][at&(memoPage-1)]
	switch entry &^ 0xFFFFFFFF {
	case memoUnset:
		return value{}, false
	case memoAside:
		return m.aside[uint32(entry)], true
	case memoUnbound:
		return value{tag: tagList + tag(entry&1), n: uint64(at) + 1}, true
	default:
		return value{tag: tag(entry >> 32), id: uint32(entry)}, true
	}
}

// plain is get for the entries that are just a tag and a number.
func (m *memo) plain(at uint32) (value, bool) {
	page := int(at >> memoShift)
	if page >= len(m.pages) || len(m.pages[page]) != memoPage {
		return value{}, false
	}
	entry := m.pages[page][at&(memoPage-1)]
	return value{tag: tag(entry >> 32), id: uint32(entry)}, entry-1 < memoAside-1
}
