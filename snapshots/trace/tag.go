package trace

// Tag says what the live memory at an address is used for.
type Tag struct {
	Addr uint64
	Note NoteID
}

// Tag sets the purpose of live memory of a device, as of now. It appends a retag
// event for each block whose known purpose is different.
func (f *Follower) Tag(device int, tags []Tag) {
	d := f.device(device)
	if d == nil {
		return
	}
	b := bridge{f: f, d: d}
	for _, t := range tags {
		i, ok := d.memory.find(t.Addr)
		if !ok || !d.memory.links[i].State.Live() || d.memory.links[i].Note == f.blockNote(t.Note) {
			continue
		}
		k := &d.memory.links[i]
		e := b.event(Retag, t.Addr, k.LiveRequested(), k.LiveStack(), f.blockNote(t.Note), d.memory.segmentAt(t.Addr).Stream)
		f.Append(device, []Event{e})
	}
}

// tagState tags the blocks of a state that live until the window's end.
func (w *opened) tagState(s *State, tags []Tag) {
	of := w.tagged(tags)
	for i := range w.events {
		if e := &w.events[i]; e.Kind == Alloc || e.Kind.Closes() {
			delete(of, e.Addr)
		}
	}
	for _, b := range s.Live() {
		if note, ok := of[b.Addr]; ok {
			b.Note = note
		}
	}
}

// tagEvents tags the new events whose allocations live until the window's end.
// The device has not had these events yet.
func (w *opened) tagEvents(tags []Tag) {
	of := w.tagged(tags)
	for i := len(w.events) - 1; i >= 0 && len(of) > 0; i-- {
		e := &w.events[i]
		note, ok := of[e.Addr]
		if !ok || e.Kind != Alloc && !e.Kind.Closes() {
			continue
		}
		if e.Kind == Alloc {
			e.Note = w.f.in.retagged(e.Note, note)
		}
		delete(of, e.Addr)
	}
}

func (w *opened) tagged(tags []Tag) map[uint64]NoteID {
	of := make(map[uint64]NoteID, len(tags))
	for _, t := range tags {
		of[t.Addr] = w.f.blockNote(t.Note)
	}
	return of
}

// retagged returns a note that has from tag what it says of the memory, and from
// note what it says of the event.
func (in *Interner) retagged(note, tag NoteID) NoteID {
	n, t := in.Notes[note], &in.Notes[tag]
	n.Category, n.Layer, n.Role, n.Shape, n.DType = t.Category, t.Layer, t.Role, t.Shape, t.DType
	return in.Note(n)
}
