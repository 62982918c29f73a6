package trace

import "slices"

// Limits for objects of which a hostile stream could make any number.
const (
	followedDevices = 256
	followedLinks   = 1 << 20 // blocks of all devices
)

// Follower makes traces of a stream: it takes base states and events, and
// publishes immutable traces. The final state of each trace is exact: the
// follower plays the events forward by the allocator's own rules, see "Playing
// forward". It is owned by one goroutine; any goroutine may read its traces.
//
// Its memory is bounded: when it has more events than its limit, it forgets the
// oldest quarter.
type Follower struct {
	rules
	info     Info
	settings []Setting
	in       *Interner
	notes    []NoteID // by an event's note: that of its block, 0 when not looked up yet
	limit    int
	kept     int // events in all logs
	devices  []*followed
	gaps     []Gap
	gapBytes int64 // that all gaps ever took
	problems Problems
	tables   *Tables // the last view
	pinned   *Device // host memory, as the last snapshot that knows it has it
}

// NewFollower returns a follower without devices. The numbers of stacks, notes
// and the like in the states and events that it takes refer to the interner in.
// The interner may grow meanwhile, and the caller still owns it. The follower
// keeps about limit events, or [MaxEvents] if limit is 0.
func NewFollower(in *Interner, limit int) *Follower {
	if limit <= 0 {
		limit = MaxEvents
	}
	f := &Follower{in: in, limit: min(limit, MaxEvents)}
	f.rules = rules{
		names: typeNames{small: in.String("small"), large: in.String("large")},
		pool:  in.Pool(Pool{}), tables: &in.Tables, note: f.blockNote, most: followedLinks,
	}
	return f
}

// Describe sets the source of the traces, and the allocator's settings. From the
// next event on, the sizes of blocks follow from these settings.
func (f *Follower) Describe(info Info, settings []Setting) {
	f.info, f.settings, f.geometry = info, settings, NewGeometry(settings)
}

// Keep sets about how many events the follower keeps, from the next event on.
func (f *Follower) Keep(limit int) { f.limit = min(max(limit, 1), MaxEvents) }

// The bytes that a block, a segment, a gap and a device take, together with what
// a trace's index computes from them.
const (
	followedBlock   = 512
	followedSegment = 640
	followedGap     = 160
	followedDevice  = 1 << 20
	followedKey     = 8
)

// Kept returns how many events the follower keeps, of all devices together.
func (f *Follower) Kept() int { return f.kept }

// Memory returns about how many bytes the devices and gaps take, events not
// included, with their part in the index of a trace.
func (f *Follower) Memory() int64 {
	bytes := f.gapBytes
	for _, d := range f.devices {
		bytes += int64(len(d.memory.links))*followedBlock + int64(len(d.memory.segments))*followedSegment + followedDevice +
			int64(cap(d.window.keys))*followedKey
	}
	return bytes
}

// Follows reports whether the follower has had a base of the device.
func (f *Follower) Follows(device int) bool { return f.device(device) != nil }

// followed is one device.
type followed struct {
	id         int
	log        EventLog
	first      int64 // number of the log's first event in the program's count
	overflowed bool  // events were forgotten
	time       int64 // of the last event that had one
	memory     memory
	base       *State // before the log's first event
	state      State  // as last published
	changed    bool   // since then
	window     window // that was merged last
}

func (f *Follower) device(id int) *followed {
	at, ok := slices.BinarySearchFunc(f.devices, id, byID)
	if !ok {
		return nil
	}
	return f.devices[at]
}

func byID(d *followed, id int) int { return d.id - id }

// Base takes the whole state of a device at one moment. The follower owns the
// state then. The first base of a device begins it; the argument first is the
// number of the next event in the program's own count. A later base ends a gap:
// missed is the number of lost events, -1 when unknown, and reason says in a few
// words why. The follower makes up events that lead from the old state to the new
// one, so that a replay in either direction can cross the gap.
func (f *Follower) Base(device int, first int64, s State, missed int64, reason string) {
	d := f.device(device)
	if d == nil {
		if len(f.devices) == followedDevices {
			f.problems.Add(device, 0, "more than %d devices", followedDevices)
			return
		}
		d = &followed{id: device, first: max(0, first), memory: newMemory(device)}
		at, _ := slices.BinarySearchFunc(f.devices, device, byID)
		f.devices = slices.Insert(f.devices, at, d)
		f.load(d, s)
		base := d.memory.state()
		d.base = &base
		return
	}
	if from := f.replace(d, s); from < d.log.Len() || missed != 0 {
		f.gap(d, from, missed, reason)
	}
	f.trim()
}

// replace gives the device a new state, and returns the number of the first event
// that was made up to lead there.
func (f *Follower) replace(d *followed, s State) (from int) {
	from = d.log.Len()
	old := d.memory
	d.memory = newMemory(d.id)
	f.linked -= old.used()
	f.load(d, s)
	f.bridge(d, &old)
	return from
}

// gap notes that events are missing before event from, and that the events from
// there on were made up.
func (f *Follower) gap(d *followed, from int, missed int64, reason string) {
	f.gaps = append(f.gaps, Gap{Device: d.id, From: from, To: d.log.Len(), Missed: missed, Reason: reason})
	f.gapBytes += followedGap + int64(len(reason))
}

// Append takes events of a device that had a base. They are copied.
func (f *Follower) Append(device int, events []Event) {
	d := f.device(device)
	if d == nil {
		f.problems.Add(device, 0, "%d events of a device without a base", len(events))
		return
	}
	for i := range events {
		e := &events[i]
		if reason := f.play(&d.memory, e); reason != "" {
			f.problems.Add(device, d.log.Len(), "%s of %d bytes at %#x: %s", e.Kind, e.Size, e.Addr, reason)
		}
		f.append(d, e)
	}
	f.trim()
}

func (f *Follower) append(d *followed, e *Event) {
	if e.Absent&NoTime == 0 {
		d.time = e.Time
	}
	d.log.Append(*e)
	d.changed = true
	f.kept++
}

// trim forgets events when there are too many: the oldest events of the device
// that has the most.
func (f *Follower) trim() {
	if f.kept <= f.limit {
		return
	}
	d := slices.MaxFunc(f.devices, func(a, b *followed) int { return a.log.Len() - b.log.Len() })
	events := d.log.Events()
	n := d.log.Drop(f.kept - f.limit + f.surplus(events))
	if n == 0 {
		return
	}
	f.rebase(d, events.Slice(0, n))
	f.kept -= n
	d.first += int64(n)
	d.overflowed, d.changed = true, true
	f.renumber(d.id, n)
}

// surplus returns how many events trim forgets beyond those that it must, so that
// trim works seldom: a quarter of the limit. After each trim, a viewer computes
// everything that it shows anew. So if a running program makes a quarter of the
// limit within a second, the surplus is a half.
func (f *Follower) surplus(events Events) int {
	const second = 1_000_000 // microseconds
	n := f.limit / 4
	if f.info.Growing && n < events.Len() && events.At(n).Time-events.At(0).Time < second {
		n *= 2
	}
	return n
}

// rebase moves a device's base past events that are forgotten.
func (f *Follower) rebase(d *followed, events Events) {
	// The problems of these events were counted when the events came. The blocks
	// are part of a temporary memory, so they do not count as linked.
	linked, problems := f.linked, f.problems
	f.linked = 0
	past := &followed{id: d.id, memory: newMemory(d.id)}
	f.load(past, *d.base)
	f.replay(&past.memory, events, 0, f.gaps, nil)
	base := past.memory.state()
	d.base = &base
	f.linked, f.problems = linked, problems
}

// renumber moves the gaps of a device whose first n events were forgotten.
func (f *Follower) renumber(device, n int) {
	var gaps []Gap
	for _, g := range f.gaps {
		if g.Device == device {
			g.From, g.To = max(0, g.From-n), g.To-n
		}
		if g.To >= 0 {
			gaps = append(gaps, g)
		}
	}
	f.gaps = gaps
}

// blockNote returns the note for a block whose event has the given note. It keeps
// what the memory is for, and drops what is only about the event.
func (f *Follower) blockNote(id NoteID) NoteID {
	if id == 0 {
		return 0
	}
	for int(id) >= len(f.notes) {
		f.notes = append(f.notes, make([]NoteID, max(256, len(f.notes)))...)
	}
	if f.notes[id] == 0 {
		n := &f.in.Notes[id]
		// One more than the number: the note of nothing is 0 itself.
		f.notes[id] = 1 + f.in.Note(Note{
			Category: n.Category, Layer: n.Layer, Role: n.Role, Shape: n.Shape, DType: n.DType,
		})
	}
	return f.notes[id] - 1
}
