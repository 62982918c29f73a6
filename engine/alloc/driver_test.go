package alloc

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// memory is a driver that has no memory, only addresses: a capacity, streams
// whose events happen when the test says so, and mapping. Freed addresses are
// given out again, the lowest first.
type memory struct {
	t        testing.TB
	total    int64
	used     int64
	sizes    map[uint64]int64 // of what Malloc gave
	ranges   map[uint64]int64 // reserved
	mapped   map[uint64]bool  // by page of 2 MiB
	fail     error            // what the next calls answer, when set
	recorded map[Event]Stream
	passed   map[Stream]Event // the last event that has happened
	last     Event
	asked    int // calls of Malloc
}

func newMemory(t testing.TB, total int64) *memory {
	t.Helper()
	return &memory{
		t: t, total: total, sizes: make(map[uint64]int64), ranges: make(map[uint64]int64),
		mapped: make(map[uint64]bool), recorded: make(map[Event]Stream), passed: make(map[Stream]Event),
	}
}

const (
	firstAddr   = 0x7f00_0000_0000
	firstRange  = 0x3_0000_0000_0000
	mappingPage = 2 << 20
)

func (m *memory) Malloc(size int64) (uint64, error) {
	m.asked++
	if m.fail != nil {
		return 0, m.fail
	}
	if m.used+size > m.total {
		return 0, ErrNoMemory
	}
	at := uint64(firstAddr)
	for _, addr := range m.addrs() {
		if addr-at >= uint64(size) {
			break
		}
		at = addr + uint64(m.sizes[addr])
	}
	m.sizes[at] = size
	m.used += size
	return at, nil
}

func (m *memory) addrs() []uint64 {
	var list []uint64
	for addr := range m.sizes {
		list = append(list, addr)
	}
	slices.Sort(list)
	return list
}

func (m *memory) Free(addr uint64) {
	size, ok := m.sizes[addr]
	if !ok {
		m.t.Errorf("driver: free of %#x, which it did not give", addr)
	}
	m.used -= size
	delete(m.sizes, addr)
}

func (m *memory) MemInfo() (free, total int64) { return m.total - m.used, m.total }

func (m *memory) Reserve(size int64) (uint64, error) {
	addr := uint64(firstRange)
	for m.ranges[addr] != 0 {
		addr += 1 << 42
	}
	m.ranges[addr] = size
	return addr, m.fail
}

func (m *memory) Unreserve(addr uint64, size int64) {
	if m.ranges[addr] != size {
		m.t.Errorf("driver: giving back the range %#x of %d bytes, which has %d", addr, size, m.ranges[addr])
	}
	delete(m.ranges, addr)
}

func (m *memory) Map(addr uint64, size int64) error {
	if m.fail != nil {
		return m.fail
	}
	if m.used+size > m.total {
		return ErrNoMemory
	}
	m.setMapped(addr, size, true)
	m.used += size
	return nil
}

func (m *memory) Unmap(addr uint64, size int64) {
	m.setMapped(addr, size, false)
	m.used -= size
}

func (m *memory) setMapped(addr uint64, size int64, mapped bool) {
	if addr%mappingPage != 0 || size%mappingPage != 0 || size <= 0 {
		m.t.Errorf("driver: mapping %d bytes at %#x, which are not pages", size, addr)
	}
	for at := addr; at < addr+uint64(size); at += mappingPage {
		if m.mapped[at] == mapped {
			m.t.Errorf("driver: the page at %#x is already as wanted: mapped %v", at, mapped)
		}
		m.mapped[at] = mapped
	}
}

func (m *memory) RecordEvent(s Stream) Event {
	m.last++
	m.recorded[m.last] = s
	return m.last
}

func (m *memory) EventReady(e Event) bool { return m.passed[m.recorded[e]] >= e }

func (m *memory) SyncEvent(e Event) {
	s := m.recorded[e]
	m.passed[s] = max(m.passed[s], e)
}

// finish lets everything queued on the stream happen.
func (m *memory) finish(s Stream) { m.passed[s] = m.last }

// plain hides what a driver can do beyond giving memory.
type plain struct{ Driver }

func newAllocator(t testing.TB, d Driver, o Options) *Allocator {
	t.Helper()
	a, err := New(d, o)
	fatal.If(t, err)
	return a
}

// must allocates n bytes on the default stream.
func must(t testing.TB, a *Allocator, n int64) Allocation {
	t.Helper()
	return mustOn(t, a, n, 0)
}

func mustOn(t testing.TB, a *Allocator, n int64, s Stream) Allocation {
	t.Helper()
	b, err := a.Alloc(n, s, Tag{})
	if err != nil {
		t.Fatalf("allocating %d bytes: %v", n, err)
	}
	return b
}

func configure(t testing.TB, a *Allocator, text string) {
	t.Helper()
	fatal.If(t, a.Configure(text))
}
