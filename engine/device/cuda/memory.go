package cuda

import (
	"errors"
	"fmt"
	"sync"

	"github.com/memtop/memtop/engine/alloc"
)

// Memory is the device's memory. It is a driver for engine/alloc and supports
// streams and expandable segments. Safe for concurrent use.
type Memory struct {
	device *Device
	// emptyCache gives back what the allocator keeps cached; nil without an
	// allocator.
	emptyCache func()
	// mu guards what follows.
	mu     sync.Mutex
	events []alloc.Event // made, and free to use
	// pieces holds the driver's handle for each mapped piece of a reserved
	// range, by address.
	pieces map[uint64]uintptr
}

var (
	_ alloc.Driver    = (*Memory)(nil)
	_ alloc.Syncer    = (*Memory)(nil)
	_ alloc.Mapper    = (*Memory)(nil)
	_ alloc.Neighbour = (*Memory)(nil)
)

// Malloc returns memory from the driver, aligned to at least 512 bytes.
func (m *Memory) Malloc(size int64) (uint64, error) {
	return m.device.words(cuMemAlloc, uintptr(size))
}

// Free gives memory back. The driver waits for the device first. After the end
// of the context it does nothing.
func (m *Memory) Free(addr uint64) { m.must(m.device.in(cuMemFree, uintptr(addr))) }

// must is for calls that fail only by a bug, and then panics, or because the
// device does not work any more: then every later call returns that failure.
func (m *Memory) must(err error) {
	var e *Error
	switch {
	case err == nil || m.device.Failed() != nil:
	case !errors.As(err, &e) || consequences[e.Result] == provesBug:
		panic(fmt.Sprintf("cuda: %v", err))
	default:
		m.device.Fail(e)
	}
}

// SetEmptyCache implements alloc.Neighbour. It is called before the device is used.
func (m *Memory) SetEmptyCache(empty func()) { m.emptyCache = empty }

// MemInfo returns the device's free and total bytes, over all programs. Once
// the context has ended nothing is free.
func (m *Memory) MemInfo() (free, total int64) {
	d := m.device
	f := newFrame()
	defer f.release()
	if err := d.in(cuMemGetInfo, f.at(0), f.at(1)); err != nil {
		return 0, d.info.Memory
	}
	return int64(f.words[0]), int64(f.words[1])
}

// eventDisableTiming makes an event without a time, which is cheaper.
const eventDisableTiming = 2

// RecordEvent marks the current end of a stream's queue.
func (m *Memory) RecordEvent(s alloc.Stream) alloc.Event {
	e, err := m.event()
	if err == nil {
		err = m.device.in(cuEventRecord, uintptr(e), m.device.stream(s))
	}
	m.must(err)
	return e
}

// makeEvents fills a list with new events, which stay the list's.
func (m *Memory) makeEvents(list []uintptr) error {
	for i := range list {
		e, err := m.device.words(cuEventCreate, eventDisableTiming)
		if err != nil {
			return err
		}
		list[i] = uintptr(e)
	}
	return nil
}

// destroyEvents destroys the events of a list, as far as they were made.
func (m *Memory) destroyEvents(list []uintptr) (err error) {
	for _, e := range list {
		if e != 0 {
			err = errors.Join(err, m.device.in(cuEventDestroy, e))
		}
	}
	return err
}

// event returns an event that is free to use.
func (m *Memory) event() (alloc.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.events); n > 0 {
		e := m.events[n-1]
		m.events = m.events[:n-1]
		return e, nil
	}
	e, err := m.device.words(cuEventCreate, eventDisableTiming)
	return alloc.Event(e), err
}

// EventReady reports, without waiting, whether the device has passed e. It has
// when the context has ended: nothing runs any more.
func (m *Memory) EventReady(e alloc.Event) bool {
	d := m.device
	defer d.leave()
	if err := d.enter(); err != nil {
		m.must(err)
		return true
	}
	r := d.Call(cuEventQuery, uintptr(e))
	if r == notReady {
		return false
	}
	if r != success {
		m.must(d.note(d.failure(cuEventQuery, r)))
	}
	m.recycle(e)
	return true
}

// SyncEvent waits until the device has passed e.
func (m *Memory) SyncEvent(e alloc.Event) {
	m.must(m.device.in(cuEventSynchronize, uintptr(e)))
	m.recycle(e)
}

func (m *Memory) recycle(e alloc.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
}

// closeEvents destroys the free events.
func (m *Memory) closeEvents() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		_ = m.device.in(cuEventDestroy, uintptr(e)) // the context goes next
	}
	m.events = nil
}
