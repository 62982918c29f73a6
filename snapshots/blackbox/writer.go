package blackbox

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
	"unsafe"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Writing
//
// A killed program stops between two of its stores, and the kernel keeps all
// earlier ones. So the writer stores data first and the mark that makes it valid
// afterwards: an event's number after the event, a slot's length after its bytes,
// its generation after all of them. A slot that is begun again becomes a
// generation only when it is complete; until then the other slot is valid.

// ErrFull says that a slot has no room for the data.
var ErrFull = errors.New("the slot of the black box is full")

// Writer writes all of a box except its events. One goroutine owns it.
type Writer struct {
	layout
	data       []byte
	rings      []*Ring
	slot       int   // that is being written
	written    int   // bytes of it
	generation int64 // of the other slot, or of this one once it is published
}

// NewWriter makes an empty box in data, whose bytes are all zero, for these devices.
// The data must lie at an address that is a multiple of a word, and on a machine that
// stores numbers with their lowest byte first.
func NewWriter(data []byte, devices []int) (*Writer, error) {
	l, err := newLayout(len(data), len(devices))
	if err != nil {
		return nil, err
	}
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, errors.New("a black box needs a machine that stores numbers with their lowest byte first")
	}
	w := &Writer{layout: l, data: data, slot: 1}
	for i, device := range devices {
		binary.LittleEndian.PutUint32(data[devicesAt+4*i:], uint32(device))
		entries := unsafe.Slice((*entry)(unsafe.Pointer(&data[l.ringAt(i)])), l.capacity)
		w.rings = append(w.rings, &Ring{entries: entries})
	}
	binary.LittleEndian.PutUint64(data[sizeAt:], uint64(l.size))
	binary.LittleEndian.PutUint32(data[countAt:], uint32(l.devices))
	copy(data, magic)
	return w, nil
}

// Ring returns the ring of the device with that index in the list of devices.
func (w *Writer) Ring(place int) *Ring { return w.rings[place] }

// Begin begins a generation. The caller then writes a stream that begins with the
// state of each device at the moment of these sums. Until Publish the old
// generation is valid.
func (w *Writer) Begin(states []Sums) {
	if w.published() {
		w.slot = 1 - w.slot
	}
	w.store(slotsAt+w.slot*slotBytes, 0)
	at := w.data[w.slotAt(w.slot):]
	for i, s := range states {
		for k, n := range [...]int64{s.Events, s.Requested, s.Reserved} {
			binary.LittleEndian.PutUint64(at[i*preludeOf+8*k:], uint64(n))
		}
	}
	w.written = w.prelude()
}

// published reports whether the current slot is valid.
func (w *Writer) published() bool {
	return w.generation > 0 && w.load(slotsAt+w.slot*slotBytes) == w.generation
}

// Write adds bytes of the stream. They become valid with Publish. The error is
// ErrFull: then nothing was written.
func (w *Writer) Write(p []byte) (int, error) {
	if len(p) > w.layout.slot-w.written {
		return 0, ErrFull
	}
	copy(w.data[w.slotAt(w.slot)+w.written:], p)
	w.written += len(p)
	return len(p), nil
}

// Publish makes everything written since Begin valid.
func (w *Writer) Publish() {
	at := slotsAt + w.slot*slotBytes
	w.store(at+8, int64(w.written))
	if !w.published() {
		w.generation++
		w.store(at, w.generation)
	}
}

// Alive notes that the program runs, at that time in microseconds since the epoch.
func (w *Writer) Alive(time int64) { w.store(aliveAt, time) }

// SlotBytes returns how many bytes of a stream fit into a slot.
func (w *Writer) SlotBytes() int { return w.layout.slot - w.prelude() }

// Room returns how many events fit into a ring.
func (w *Writer) Room() int64 { return int64(w.capacity) }

func (w *Writer) word(at int) *int64         { return (*int64)(unsafe.Pointer(&w.data[at])) }
func (w *Writer) store(at int, number int64) { atomic.StoreInt64(w.word(at), number) }
func (w *Writer) load(at int) int64          { return atomic.LoadInt64(w.word(at)) }

// Ring keeps the last events of one device. One goroutine at a time records.
type Ring struct {
	entries []entry
	sums    Sums
}

// Record stores an event and returns the number of earlier events. It allocates
// nothing, never waits and makes no system call.
func (r *Ring) Record(e *trace.Event) int64 {
	at := r.sums.Events
	r.sums.add(e)
	to := &r.entries[int(at)&(len(r.entries)-1)]
	to.event, to.requested, to.reserved = *e, r.sums.Requested, r.sums.Reserved
	atomic.StoreInt64(&to.number, at+1)
	return at
}

// Sums returns the totals of the events so far. The caller must not record
// meanwhile.
func (r *Ring) Sums() Sums { return r.sums }
