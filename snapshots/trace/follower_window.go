package trace

import (
	"cmp"
	"math"
	"slices"
)

// # Windows
//
// PyTorch's allocator keeps only its last events. A snapshot has those events and
// the state after them: it is a window on the program's history. The follower
// joins overlapping windows by the contents of their events. Times are not
// enough: old versions of PyTorch write no times, and newer versions compute them
// anew for each snapshot, with differences of some microseconds. If a program
// repeats itself, a window may fit in several places; then the times decide.
// Without times, as few events as possible count as new.

// Why windows leave a gap.
const (
	overwritten = "between two looks, events were overwritten or nobody recorded them"
	misled      = "the events do not lead to the memory that the program reports"
)

// window is what the follower remembers of a device's last window.
type window struct {
	keys []uint64 // what its events said
	time int64    // of the last of them as that window had it, 0 when it had none
}

// Window takes a device of a snapshot. It appends the new events of the snapshot,
// and gives the device the snapshot's final state. The first window begins the
// device. If events were lost between two windows, there is a gap. Marks are
// events that the program itself noted, newer than those of the window before and
// in the order of time; they are put between the other events by their times.
// Tags say what the memory in the final state is for. The caller keeps the
// ownership of all arguments.
func (f *Follower) Window(t *Trace, device *Device, marks []Event, tags []Tag) {
	w := f.open(t, device)
	d := f.device(device.ID)
	if d == nil {
		base := w.before()
		w.take(0, tags)
		w.tagState(&base, tags)
		f.Base(device.ID, 0, base, 0, "")
		if d = f.device(device.ID); d == nil {
			return // there are too many
		}
	} else {
		w.take(f.join(d, w), tags)
	}
	d.window.keys, d.window.time = w.keys, w.time
	f.appendWindow(d, w.merged(marks, d.time))
	w.final = f.explained(d, w.final)
	if from := f.replace(d, w.final); from < d.log.Len() {
		f.gap(d, from, -1, misled)
	}
	f.Tag(device.ID, tags)
	f.trim()
}

// pinnedMost bounds the segments of pinned memory that a follower keeps.
const pinnedMost = 4096

// Pinned takes what a snapshot says of pinned host memory: its state, or of a large one
// the largest segments. The caller keeps the ownership of t.
func (f *Follower) Pinned(t *Trace) {
	if t.Pinned == nil {
		return
	}
	state := f.in.Adopt(t.Tables).State(t.Pinned.Final)
	if len(state.Segments) > pinnedMost {
		slices.SortFunc(state.Segments, func(a, b Segment) int { return cmp.Compare(b.Size, a.Size) })
		state.Segments = slices.Clone(state.Segments[:pinnedMost])
		slices.SortFunc(state.Segments, func(a, b Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	}
	f.pinned = &Device{ID: t.Pinned.ID, Base: &state, Final: state}
}

// opened is a window that is being merged.
type opened struct {
	f      *Follower
	adopt  *Adoption
	trace  *Trace
	device *Device
	keys   []uint64 // of all its events
	events []Event  // those that are new, in the follower's numbers
	time   int64    // of the last of them
	timed  bool
	gapped bool // events are missing before it
	final  State
}

func (f *Follower) open(t *Trace, device *Device) *opened {
	w := &opened{f: f, adopt: f.in.Adopt(t.Tables), trace: t, device: device, timed: true}
	w.keys = make([]uint64, 0, device.Events.Len())
	for _, e := range device.Events.Range(0, device.Events.Len()) {
		w.keys = append(w.keys, w.adopt.Key(e))
		w.timed = w.timed && e.Absent&NoTime == 0
		w.time = e.Time
	}
	w.final = w.adopt.State(device.Final)
	return w
}

// take takes the window's new events, from event from on, and tags the memory
// that they allocated.
func (w *opened) take(from int, tags []Tag) {
	w.events = make([]Event, 0, w.device.Events.Len()-from)
	for _, e := range w.device.Events.Range(from, w.device.Events.Len()) {
		w.events = append(w.events, w.adopt.Event(e))
	}
	w.tagEvents(tags)
}

// before returns the state before the window's first event. If a block is freed
// within the window, its stack and note become 0: undoing the free only gives the
// stack that freed the block, not the stack that allocated it.
func (w *opened) before() State {
	undone, _ := Rewind(w.trace, w.device)
	base := w.adopt.State(undone)
	made, freed := make(map[uint64]bool), make(map[uint64]bool)
	for _, e := range w.device.Events.Range(0, w.device.Events.Len()) {
		switch {
		case e.Kind == Alloc:
			made[e.Addr] = true
		case e.Kind.Closes() && !made[e.Addr]:
			freed[e.Addr] = true
		}
	}
	for _, b := range base.Live() {
		b.Note = w.f.blockNote(b.Note)
		if freed[b.Addr] {
			b.Stack, b.Note = 0, 0
		}
	}
	return base
}

// join returns the number of the first event in the window that the device has
// not had, and brings the device to the state before that event.
func (f *Follower) join(d *followed, w *opened) int {
	known := w.known(d)
	if known > 0 || len(w.keys) == 0 {
		return known
	}
	from := f.replace(d, f.explained(d, w.before()))
	// Without events in the window before, recording may have begun after it.
	if from < d.log.Len() || len(d.window.keys) > 0 {
		w.gapped = true
		f.gap(d, from, -1, overwritten)
	}
	return 0
}

// explained adds what the follower knows to a snapshot's state: a block that is
// also in the device's memory gets the note from there, and the stack too if it
// has none. The pools of segments go the other way, from the state to the
// device's memory, because events do not always say the pool.
func (f *Follower) explained(d *followed, s State) State {
	for i := range s.Segments {
		g := &s.Segments[i]
		if g.Pool == 0 {
			g.Pool = f.pool
		}
		d.memory.learn(g)
	}
	for _, b := range s.Live() {
		i, ok := d.memory.find(b.Addr)
		if !ok || !d.memory.links[i].State.Live() || d.memory.links[i].LiveRequested() != b.LiveRequested() {
			b.Note = f.blockNote(b.Note)
			continue
		}
		known := &d.memory.links[i]
		b.Note, known.Size = known.Note, b.Size // so that a size computed by the rules does not make it another allocation
		switch {
		case b.LiveStack() <= EmptyStack:
			b.Stack = known.LiveStack()
		case known.LiveStack() <= EmptyStack: // the program recorded stacks of live memory only
			known.Stack = b.LiveStack()
		}
	}
	return s
}

// learn copies the facts of a segment to the segments in memory that lie in its
// range.
func (m *memory) learn(g *Segment) {
	from := g.Addr
	if s := m.segmentAt(from); s != nil {
		from = s.Addr
	}
	m.mapped.from(from, func(addr uint64, id int32) bool {
		s := &m.segments[id]
		if addr >= g.End() {
			return false
		}
		if s.Stream == g.Stream && s.Expandable == g.Expandable {
			s.SegmentFacts = g.SegmentFacts
		}
		return true
	})
}

// merged returns the new events with the marks between them. No time in the
// result is earlier than the argument time. Marks of missing events are left out:
// nobody knows what was alive then.
func (w *opened) merged(marks []Event, time int64) []Event {
	switch n := len(w.events); {
	case time > 0 && !w.gapped || n > 0 && !w.timed:
	case n > 0:
		marks = since(marks, w.events[0].Time)
	default: // a state without a history, which the steps so far led to
		marks = since(marks, math.MaxInt64)
	}
	all := make([]Event, 0, len(w.events)+len(marks))
	add := func(e Event) {
		if w.timed {
			time = max(time, e.Time) // never earlier than the event before
			e.Time = time
		} else if e.Kind >= StepBegin {
			e.Time, e.Absent = 0, NoTime
		}
		all = append(all, e)
	}
	for i := range w.events {
		for w.timed && len(marks) > 0 && marks[0].Time < w.events[i].Time {
			add(marks[0])
			marks = marks[1:]
		}
		add(w.events[i])
	}
	for _, m := range marks {
		add(m)
	}
	return slices.Clip(all)
}

// since leaves out the marks from before a time, except the begin of the step
// that was running then.
func since(marks []Event, time int64) []Event {
	for len(marks) > 0 && marks[0].Time < time && (marks[0].Kind != StepBegin || len(marks) > 1 && marks[1].Time < time) {
		marks = marks[1:]
	}
	return marks
}

// appendAtOnce is how many events are appended before old ones are forgotten.
const appendAtOnce = chunkSize

func (f *Follower) appendWindow(d *followed, events []Event) {
	for len(events) > 0 {
		n := min(len(events), appendAtOnce)
		f.Append(d.id, events[:n])
		events = events[n:]
	}
}
