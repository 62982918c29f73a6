package blackbox

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// box is a box that is read. Nothing in it is believed: what is used of a number is
// bounded by what is there.
type box struct {
	layout
	window  *window // on as much of the file as there is
	devices []int
	alive   int64
}

// CorruptError says what of a box makes no sense.
type CorruptError struct {
	Offset int64 // of what is wrong
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

// generation is a slot that is whole.
type generation struct {
	number int64
	states []Sums // by place of the device
	at     int    // where its stream begins
	length int    // of its stream
}

// generations returns those that the header speaks of, the newest first.
func (b *box) generations() []generation {
	var all []generation
	for slot := range 2 {
		at := slotsAt + slot*slotBytes
		number, length := b.int64(at), b.int64(at+8)
		begin := b.slotAt(slot)
		end := min(begin+int(min(length, int64(b.slot))), b.window.size) // of a file that was cut off, what is there
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

// int64 returns the number at a place that is there; 0 where it cannot be read.
func (b *box) int64(at int) int64 {
	raw, ok := b.window.bytes(at, 8)
	if !ok {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(raw))
}

// tail is the end of a ring: entries that follow each other, the last of which is the
// last event of all.
type tail struct {
	b     *box
	place int
	from  int64 // number of the first event
	sums  Sums  // after the last
}

// tail returns the end of the ring of the device with that place in the list.
//
// The entry after the last may be torn, since it was being replaced: it is not used.
// Nor is what comes before one whose sums do not follow: in a copy that was made while
// the program ran, entries were replaced meanwhile.
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

// entry returns the bytes of the entry in which event number at is, or was, until the next
// call.
func (b *box) entry(place int, at int64) ([]byte, bool) {
	return b.window.bytes(b.ringAt(place)+int(at&int64(b.capacity-1))*entrySize, entrySize)
}

// events returns the events in [from, to), which the tail must have.
func (t *tail) events(from, to int64) []trace.Event {
	list := make([]trace.Event, 0, max(0, to-from))
	for at := from; at < to; at++ {
		raw, ok := t.b.entry(t.place, at)
		if !ok {
			break // what reading met is said at the end
		}
		list = append(list, eventOf(raw))
	}
	return list
}
