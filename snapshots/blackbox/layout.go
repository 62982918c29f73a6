package blackbox

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"
	"unsafe"

	"github.com/memtop/memtop/snapshots/trace"
)

// # The layout
//
//	header     4096 bytes
//	slot 0     a quarter of the file, less a page
//	slot 1     likewise
//	rings      a ring of events for each device, one after another, all of one length
//
// A box of no devices has no rings, and its two slots share the file: a slot is a
// whole stream, with the events in it.
//
// Numbers are little-endian. The size of the file and the number of devices
// determine all places, so that a reader trusts no offset in the file.

// magic begins every box. No other file that memtop opens begins with its first
// byte.
const magic = "\x8fmtb\r\n\x01\x00"

const (
	pageSize   = 4096
	entrySize  = 64
	preludeOf  = 24 // bytes of a slot's prelude for each device
	leastRing  = 256
	maxDevices = 256
)

// LeastSize and MostSize bound the size of a box in bytes.
const (
	LeastSize = 256 << 10
	MostSize  = 1 << 30
)

// Places in the header.
const (
	sizeAt    = 8  // bytes of the file
	countAt   = 16 // the number of devices
	aliveAt   = 24 // when the program last noted that it runs, microseconds since the epoch
	slotsAt   = 64 // for each slot its generation and its written bytes
	slotBytes = 16
	devicesAt = 128 // the devices' numbers, four bytes each
)

// layout says where everything lies.
type layout struct {
	size     int
	slot     int // bytes of one
	capacity int // events of a ring, a power of two; 0 without rings
	devices  int
}

// newLayout returns the layout of a box of that size.
func newLayout(size, devices int) (layout, error) {
	if size < LeastSize || size > MostSize || size%pageSize != 0 {
		return layout{}, fmt.Errorf("a black box has between %d KiB and %d MiB, in pages of %d bytes, and not %d bytes", LeastSize>>10, MostSize>>20, pageSize, size)
	}
	if devices < 0 || devices > maxDevices {
		return layout{}, fmt.Errorf("a black box is for at most %d devices, and not for %d", maxDevices, devices)
	}
	if devices == 0 {
		return layout{size: size, slot: (size/pageSize - 1) / 2 * pageSize}, nil
	}
	l := layout{size: size, slot: size/4/pageSize*pageSize - pageSize, devices: devices}
	l.capacity = 1 << (bits.Len(uint((size-l.rings())/devices/entrySize)) - 1)
	if l.capacity < leastRing {
		return layout{}, fmt.Errorf("a black box of %d bytes is too small for %d devices", size, devices)
	}
	return l, nil
}

// slotAt returns where a slot begins.
func (l layout) slotAt(slot int) int { return pageSize + slot*l.slot }

// rings returns where the rings begin.
func (l layout) rings() int { return pageSize + 2*l.slot }

// ringAt returns where the ring of the device with that place in the list begins.
func (l layout) ringAt(place int) int { return l.rings() + place*l.capacity*entrySize }

// prelude is how many bytes of a slot come before its stream.
func (l layout) prelude() int { return l.devices * preludeOf }

// Sums are totals over all events of a device.
type Sums struct {
	Events    int64 // the number of events
	Requested int64 // requested bytes, less freed ones
	Reserved  int64 // likewise of segments
}

// add adds an event.
func (s *Sums) add(e *trace.Event) {
	s.Events++
	switch {
	case e.Kind == trace.Alloc:
		s.Requested += e.Size
	case e.Kind.Closes():
		s.Requested -= e.Size
	case e.Kind.Segment():
		s.Reserved += e.ReservedDelta()
	}
}

// entry is an event in a ring. It fills one cache line. Its number counts the
// events up to this one. The program stores the number last, so that an
// unfinished entry still has the number of the entry that it replaces.
type entry struct {
	event     trace.Event
	requested int64
	reserved  int64
	number    int64
}

// An entry in memory is the bytes of docs/blackbox.md.
const (
	_ = uint(unsafe.Sizeof(entry{}) - entrySize)
	_ = uint(entrySize - unsafe.Sizeof(entry{}))
)

// eventOf reads an event from an entry, on any machine.
func eventOf(b []byte) trace.Event {
	le := binary.LittleEndian
	return trace.Event{
		Addr: le.Uint64(b), Size: int64(le.Uint64(b[8:])), Time: int64(le.Uint64(b[16:])),
		Stack: trace.StackID(le.Uint32(b[24:])), Note: trace.NoteID(le.Uint32(b[28:])), Slack: le.Uint32(b[32:]),
		Stream: trace.StreamID(le.Uint16(b[36:])), Kind: kindOf(b[38]), Absent: trace.Absent(b[39]),
	}
}

func kindOf(b byte) trace.Kind {
	if int(b) >= trace.KindCount {
		return trace.Other
	}
	return trace.Kind(b)
}

// entryOf reads an entry.
func entryOf(b []byte) entry {
	le := binary.LittleEndian
	return entry{eventOf(b), int64(le.Uint64(b[40:])), int64(le.Uint64(b[48:])), int64(le.Uint64(b[56:]))}
}

// IsHeader reports whether a black box begins with these bytes.
func IsHeader(head []byte) bool {
	return len(head) >= 4 && string(head[:4]) == magic[:4]
}

// HeaderBytes is how many bytes of a box [AliveAt] needs.
const HeaderBytes = pageSize

// AliveAt returns when the program last noted that it runs, from the header of
// its box; false if the bytes are no header.
func AliveAt(header []byte) (time.Time, bool) {
	if len(header) < pageSize || string(header[:len(magic)]) != magic {
		return time.Time{}, false
	}
	return time.UnixMicro(int64(binary.LittleEndian.Uint64(header[aliveAt:]))), true
}
