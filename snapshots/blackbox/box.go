package blackbox

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// box is a box that is being read. It may be damaged or hostile: every number in
// it is checked against the file's size.
type box struct {
	layout
	window  *window // on the existing part of the file
	devices []int
	alive   int64
}

// CorruptError says which part of a box is damaged, and how.
type CorruptError struct {
	Offset int64 // of the damage
	Reason string
	Memory bool // reading it takes more than is allowed
}

// Error is one line.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("byte %d of the black box: %s", e.Offset, e.Reason)
}

func corrupt(offset int, format string, values ...any) error {
	return &CorruptError{Offset: int64(offset), Reason: fmt.Sprintf(format, values...)}
}

// newBox reads the header.
func newBox(w *window) (*box, error) {
	le := binary.LittleEndian
	data, whole := w.bytes(0, pageSize)
	switch {
	case w.err != nil:
		return nil, w.err
	case !whole:
		return nil, corrupt(w.size, "the header is cut off: the copy is not whole")
	case !bytes.HasPrefix(data, []byte(magic[:6])):
		return nil, corrupt(0, "the header is damaged, as if the file was transferred as text")
	case string(data[:len(magic)]) != magic:
		return nil, corrupt(6, "the box has version %d and this program reads version %d: update the older of the two", data[6], magic[6])
	}
	size, count := le.Uint64(data[sizeAt:]), le.Uint32(data[countAt:])
	l, err := newLayout(int(min(size, MostSize+1)), int(min(count, maxDevices+1)))
	if err != nil {
		return nil, corrupt(sizeAt, "%s", err)
	}
	w.size = min(w.size, l.size)
	b := &box{layout: l, window: w, alive: int64(le.Uint64(data[aliveAt:]))}
	for i := range l.devices {
		device := le.Uint32(data[devicesAt+4*i:])
		if n := len(b.devices); device >= 1<<16 || n > 0 && int(device) <= b.devices[n-1] {
			return nil, corrupt(devicesAt+4*i, "device %d is none, or not in order", device)
		}
		b.devices = append(b.devices, int(device))
	}
	return b, nil
}

// generation is a complete slot.
type generation struct {
	number int64
	states []Sums // by index of the device
	at     int    // where its stream begins
	length int    // of its stream
}

// generations returns the generations in the header, the newest first.
func (b *box) generations() []generation {
	var all []generation
	for slot := range 2 {
		at := slotsAt + slot*slotBytes
		number, length := b.int64(at), b.int64(at+8)
		begin := b.slotAt(slot)
		end := min(begin+int(min(length, int64(b.slot))), b.window.size) // if the file was cut off, the existing part
		if number <= 0 || length < int64(b.prelude()) || end < begin+b.prelude() {
			continue
		}
		g := generation{number: number, at: begin + b.prelude(), length: end - begin - b.prelude()}
		for i := range b.layout.devices {
			p := begin + i*preludeOf
			g.states = append(g.states, Sums{b.int64(p), b.int64(p + 8), b.int64(p + 16)})
		}
		all = append(all, g)
	}
	if len(all) == 2 && all[1].number > all[0].number {
		all[0], all[1] = all[1], all[0]
	}
	return all
}

// int64 returns the number at a place inside the file; 0 if it cannot be read.
func (b *box) int64(at int) int64 {
	raw, ok := b.window.bytes(at, 8)
	if !ok {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(raw))
}

// tail is the end of a ring: consecutive entries up to the last event.
type tail struct {
	b     *box
	place int
	from  int64 // number of the first event
	sums  Sums  // after the last
}

// tail returns the end of the ring of the device with that place in the list.
//
// The entry after the last may be torn, since it was being replaced, so tail does
// not use it. Nor does it use entries before one whose sums do not follow: in a
// copy made while the program ran, entries were replaced meanwhile.
func (b *box) tail(place int) tail {
	t := tail{b: b, place: place}
	for i := range int64(b.capacity) {
		raw, ok := b.entry(place, i)
		if !ok {
			break
		}
		if n := int64(binary.LittleEndian.Uint64(raw[56:])); n > t.sums.Events && (n-1)&int64(b.capacity-1) == i {
			t.sums.Events = n
		}
	}
	if t.from = t.sums.Events; t.from == 0 {
		return t
	}
	raw, ok := b.entry(place, t.from-1)
	if !ok {
		return tail{b: b, place: place}
	}
	last := entryOf(raw)
	t.sums.Requested, t.sums.Reserved = last.requested, last.reserved
	t.from--
	for after := last; t.from > 0 && t.sums.Events-t.from < int64(b.capacity)-1; t.from-- {
		raw, ok := b.entry(place, t.from-1)
		if !ok {
			break
		}
		e := entryOf(raw)
		now := Sums{Events: t.from, Requested: e.requested, Reserved: e.reserved}
		if now.add(&after.event); e.number != t.from || now.Requested != after.requested || now.Reserved != after.reserved {
			break
		}
		after = e
	}
	return t
}

// entry returns the bytes of the entry for event number at. They are valid until
// the next call.
func (b *box) entry(place int, at int64) ([]byte, bool) {
	return b.window.bytes(b.ringAt(place)+int(at&int64(b.capacity-1))*entrySize, entrySize)
}

// events returns the events in [from, to), which must be in the tail.
func (t *tail) events(from, to int64) []trace.Event {
	list := make([]trace.Event, 0, max(0, to-from))
	for at := from; at < to; at++ {
		raw, ok := t.b.entry(t.place, at)
		if !ok {
			break // the reading error is reported at the end
		}
		list = append(list, eventOf(raw))
	}
	return list
}
