package cuda

import (
	"errors"
	"unsafe"
)

// pinned is host memory that the device can access itself, so that a copy need
// not wait for the host. Go's collector does not manage it.
type pinned struct {
	addr  uintptr
	bytes []byte
}

// hostPortable makes pinned memory valid in every context of the process.
const hostPortable = 1

func (d *Device) pin(n int) (pinned, error) {
	addr, err := d.words(cuMemHostAlloc, uintptr(n), hostPortable)
	if err != nil {
		return pinned{}, err
	}
	at := uintptr(addr)
	p := *(*unsafe.Pointer)(unsafe.Pointer(&at))
	return pinned{addr: at, bytes: unsafe.Slice((*byte)(p), n)}, nil
}

func (d *Device) unpin(p pinned) error {
	if p.addr == 0 {
		return nil
	}
	return d.in(cuMemFreeHost, p.addr)
}

// Share lets kernels read and write ordinary host memory, at its host address,
// until release is called. It is slow, and meant for tests that read what a
// kernel wrote.
func (d *Device) Share(memory []byte) (release func() error, err error) {
	const portableMapped = 1 | 2
	at := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	if err := d.in(cuMemHostRegister, at, uintptr(len(memory)), portableMapped); err != nil {
		return nil, err
	}
	return func() error { return d.in(cuMemHostUnregister, at) }, nil
}

// staging is a ring of pinned memory through which bytes go to the device: the
// caller copies them in, and may go on while the device fetches them. The ring
// has parts; a part is reused when the device has passed the event behind its
// last copy. Owned by one goroutine.
type staging struct {
	device *Device
	memory pinned
	events [stagingParts]uintptr
	used   [stagingParts]bool // the part has copies that were not waited for
	part   int
	at     int // bytes used of the part
}

const (
	stagingParts = 4
	stagingPart  = 1 << 20
)

// open allocates the ring's memory and events. close releases them, also after
// a failure of open.
func (s *staging) open() (err error) {
	if s.memory, err = s.device.pin(stagingParts * stagingPart); err != nil {
		return err
	}
	return s.device.makeEvents(s.events[:])
}

// room returns up to n free bytes of the ring. It waits while the device still
// reads the next part.
func (s *staging) room(n int, stream uintptr) (pinned, error) {
	if s.at == stagingPart {
		if err := s.turn(stream); err != nil {
			return pinned{}, err
		}
	}
	from := s.part*stagingPart + s.at
	n = min(n, stagingPart-s.at)
	s.at += (n + 15) &^ 15
	return pinned{s.memory.addr + uintptr(from), s.memory.bytes[from : from+n]}, nil
}

// turn goes on to the next part.
func (s *staging) turn(stream uintptr) error {
	if err := s.device.in(cuEventRecord, s.events[s.part], stream); err != nil {
		return err
	}
	s.used[s.part] = true
	s.part, s.at = (s.part+1)%stagingParts, 0
	if !s.used[s.part] {
		return nil
	}
	s.used[s.part] = false
	return s.device.in(cuEventSynchronize, s.events[s.part])
}

func (s *staging) close() error {
	return errors.Join(s.device.destroyEvents(s.events[:]), s.device.unpin(s.memory))
}
