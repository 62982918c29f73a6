package pytorch

import "github.com/memtop/memtop/snapshots/trace"

// # Categories and PyTorch's viewer
//
// PyTorch's web viewer colours an allocation by the category of its alloc event,
// and stops with an exception at a file that has categories but not "unknown".
// Our engine learns what memory is for after it allocates it, and learns it for
// all memory. So in a trace with categories an alloc event has the last category
// of its memory, and an event without a category has "unknown". The event's own
// category then has a key of our own, noted_category, which is empty if there is
// none. PyTorch's own files get no such key.

// unknownCategory is what the viewer must find in a file with categories.
const unknownCategory = "unknown"

// categories decides the category that the viewer shows for an event. The zero
// value changes nothing in a trace.
type categories struct {
	all  bool // every event has one
	life []*trace.Lifetimes
	last int // the index of the device that gets one more event, for "unknown", or -1
}

// newCategories changes nothing in a trace without categories, or with "unknown"
// among them: the viewer reads it as it is.
func newCategories(t *trace.Trace) categories {
	c := categories{last: -1}
	for i := range t.Tables.Notes {
		switch name := t.Tables.Notes[i].Category; {
		case name == 0:
		case t.Tables.Strings[name] == unknownCategory:
			return categories{last: -1}
		default:
			c.all = true
		}
	}
	if c.all {
		c.read(t)
	}
	return c
}

// read replays the devices. If all events have a category, the first device with
// events gets one more, as PyTorch adds for a snapshot.
func (c *categories) read(t *trace.Trace) {
	none := false
	c.life = make([]*trace.Lifetimes, len(t.Devices))
	for i := range t.Devices {
		d := &t.Devices[i]
		for k := range d.Events.Len() {
			e := d.Events.At(k)
			none = none || e.Kind != trace.Alloc && t.Tables.Notes[e.Note].Category == 0
		}
		c.life[i] = trace.NewLifetimes()
		c.life[i].Advance(d.Events)
		if c.last < 0 && d.Events.Len() > 0 {
			c.last = i
		}
	}
	if none {
		c.last = -1
	}
}

// of returns the note whose category the viewer shows for event i of a device.
func (c *categories) of(device, i int, e *trace.Event) trace.NoteID {
	if c.life == nil || e.Kind != trace.Alloc {
		return e.Note
	}
	return c.life[device].NoteAt(trace.AllocationID(i), trace.Never, e.Note)
}

// category writes the category of the note to show, and that of the event's own
// note where it differs.
func (p *pickler) category(ownNote, shownNote trace.NoteID) {
	own, shown := p.t.Tables.Notes[ownNote].Category, p.t.Tables.Notes[shownNote].Category
	switch {
	case shown != 0:
		p.stringField(nameCategory, shown)
	case p.categories.all:
		p.key(nameCategory)
		p.text(unknownCategory)
	default:
		return
	}
	if own != shown || own == 0 {
		p.key(nameNotedCategory)
		p.string(max(own, trace.EmptyString))
	}
}
