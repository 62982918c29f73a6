package probe

import (
	"cmp"
	"slices"
	"sync"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// feed is what an agent has sensed, in order: the last entries, and the state to
// which all of them lead. One goroutine adds to it; any number read.
type feed struct {
	mu       sync.Mutex
	in       *trace.Interner
	names    names
	tables   trace.Tables // a view
	entries  []entry      // the newest; the program's earlier ones are dropped
	first    int64        // number of the first of them
	bytes    int64        // about what they take
	events   int64        // number of all events
	alive    map[uint64]trace.Event
	taken    *Taken // the latest snapshot
	takenAt  int64  // its number among the entries
	steps    []*trace.Step
	layered  map[int]*trace.Step // by device, the latest step that has layers
	measured map[int]*trace.Step // by device, the latest step that says what its memory is for
	stepped  int64               // number of all steps
	gauges   pastGauges
}

// entry is one thing that an agent has sensed: an event, or what is not nil.
type entry struct {
	event  trace.Event
	step   *trace.Step
	gauges []trace.Gauge
	taken  bool // a snapshot, which later ones may have replaced
	bytes  int64
}

func (e *entry) isEvent() bool { return e.step == nil && e.gauges == nil && !e.taken }

// Taken is a snapshot of PyTorch's allocator, pickled, and what the memory is for.
type Taken struct {
	Pickle []byte
	Tags   []DeviceTags
	Steps  []DeviceStep // of the step that has just ended, by device; none if no step has
}

// DeviceTags say what the memory of a device is for.
type DeviceTags struct {
	Device int
	Tags   []trace.Tag
}

// Limits of what is kept for a viewer that reads slowly.
const (
	feedBytes  = 8 << 20
	feedEvents = 1 << 16
	feedNames  = 64 << 20 // bytes of names
	entryBytes = 96
)

func newFeed() *feed {
	f := &feed{in: trace.NewInterner(), alive: make(map[uint64]trace.Event), layered: make(map[int]*trace.Step), measured: make(map[int]*trace.Step), takenAt: -1}
	f.in.Bound(feedNames)
	f.names.reset()
	f.tables = f.in.View()
	return f
}

// event adds an event.
func (f *feed) event(e trace.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.Stack, e.Note = named(f.names.stacks, uint64(e.Stack)), named(f.names.notes, uint64(e.Note))
	switch e.Kind {
	case trace.Alloc:
		f.alive[e.Addr] = e
	case trace.Free:
		delete(f.alive, e.Addr)
	case trace.Retag:
		if old, ok := f.alive[e.Addr]; ok {
			old.Note = e.Note
			f.alive[e.Addr] = old
		}
	}
	f.events++
	f.add(entry{event: e})
}

// step adds a step. It drops the layers, which are large, if a step shortly before
// kept its own.
func (f *feed) step(s *trace.Step, bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(s.Layers) > 0 {
		before := f.layered[s.Device]
		if before != nil && s.Time >= before.Time && s.Time-before.Time < protocol.MinInterval.Microseconds() {
			s.Layers = nil
		} else {
			f.layered[s.Device] = s
		}
	}
	if len(s.Categories) > 0 {
		f.measured[s.Device] = s
	}
	f.stepped++
	f.steps = append(f.steps, s)
	f.steps = slices.Delete(f.steps, 0, max(0, len(f.steps)-stepsBefore))
	f.add(entry{step: s, bytes: int64(bytes)})
}

func (f *feed) gauge(g []trace.Gauge, bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gauges.add(g)
	f.add(entry{gauges: g, bytes: int64(bytes)})
}

// snapshot adds a snapshot. Only the latest is kept: it contains what the earlier
// ones had.
func (f *feed) snapshot(t *Taken) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, of := range t.Tags {
		for i := range of.Tags {
			of.Tags[i].Note = named(f.names.notes, uint64(of.Tags[i].Note))
		}
	}
	f.taken, f.takenAt = t, f.first+int64(len(f.entries))
	f.add(entry{taken: true})
}

// forget drops all live memory, and all entries so far.
func (f *feed) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first += int64(len(f.entries)) + 1 // so that sessions begin anew
	f.entries, f.bytes = nil, 0
	clear(f.alive)
	f.taken = nil
}

func (f *feed) add(e entry) {
	e.bytes += entryBytes
	f.entries, f.bytes = append(f.entries, e), f.bytes+e.bytes
	for f.bytes > feedBytes || len(f.entries) > feedEvents {
		f.bytes -= f.entries[0].bytes
		f.entries[0] = entry{}
		f.entries = f.entries[1:]
		f.first++
	}
}

// end returns the number of the next entry.
func (f *feed) end() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first + int64(len(f.entries))
}

// oldest returns the number of the oldest entry that is kept.
func (f *feed) oldest() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

// since returns the entries from number at on, with tables that have all their
// names; false if some of them are no longer kept.
func (f *feed) since(at int64) (entries []entry, tables trace.Tables, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at < f.first {
		return nil, f.tables, false
	}
	return slices.Clone(f.entries[at-f.first:]), f.tables, true
}

// snapshotAt returns the snapshot that is entry number at, nil if a later one has
// replaced it.
func (f *feed) snapshotAt(at int64) *Taken {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.takenAt != at {
		return nil
	}
	return f.taken
}

// sees reports whether the feed has a state of the memory.
func (f *feed) sees() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.alive) > 0 || f.taken != nil
}

// counted returns the number of all events.
func (f *feed) counted() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events
}

// last returns the number of the last step, and what is known of it. Its memory and
// settings are those of the last measured step of its device: not every step is
// measured.
func (f *feed) last() (int64, *protocol.LastStep) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var last, measured *trace.Step
	for _, s := range f.steps {
		if last == nil || s.Time >= last.Time {
			last = s
		}
	}
	if last == nil {
		return 0, nil
	}
	for _, s := range f.steps {
		if s.Device == last.Device && s.Measured() && (measured == nil || s.Time >= measured.Time) {
			measured = s
		}
	}
	if measured == nil {
		measured = last
	}
	return last.Number, lastStep(last, measured)
}

// feedState is the state with which a session begins.
type feedState struct {
	at, events, stepped int64 // number of the next entry, of all events and steps
	tables              trace.Tables
	memory              trace.State
	taken               *Taken
	steps               []*trace.Step
	gauges              []trace.Gauge
}

// state returns the current state. Memory without a caching allocator is a segment
// for each storage.
func (f *feed) state() feedState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return feedState{
		at: f.first + int64(len(f.entries)), events: f.events, stepped: f.stepped,
		tables: f.tables, memory: stateOf(f.alive), taken: f.taken,
		steps: f.lastSteps(), gauges: f.gauges.values(),
	}
}

// trace returns the memory of a program without a caching allocator, with the events
// that are still kept.
func (f *feed) trace(h *wire.Hello) *trace.Trace {
	f.mu.Lock()
	defer f.mu.Unlock()
	var log trace.EventLog
	for i := range f.entries {
		if e := &f.entries[i]; e.isEvent() {
			log.Append(e.event)
		}
	}
	first, tables := f.events-int64(log.Len()), f.tables
	return &trace.Trace{
		Info:        trace.Info{Kind: "live", PickleProtocol: -1, Writer: h.Writer, TraceLists: 1},
		Annotations: []trace.Annotation{}, Settings: h.Settings, Tables: &tables,
		Devices: []trace.Device{{
			ID: h.Devices[0], Events: log.Events(), First: first, Final: stateOf(f.alive), Overflowed: first > 0, MaxEvents: feedEvents,
		}},
	}
}

// lastSteps returns the last steps, and of each device, however old they are, the
// latest step that has layers, which are long, and the latest that says what its
// memory is for.
func (f *feed) lastSteps() []*trace.Step {
	var last []*trace.Step
	for _, of := range []map[int]*trace.Step{f.layered, f.measured} {
		for _, s := range of {
			if !slices.Contains(f.steps, s) && !slices.Contains(last, s) {
				last = append(last, s)
			}
		}
	}
	slices.SortFunc(last, func(a, b *trace.Step) int { return cmp.Compare(a.Number, b.Number) })
	last = append(last, f.steps...)
	for i, s := range last {
		if len(s.Layers) > 0 && f.layered[s.Device] != s {
			short := *s
			short.Layers = nil
			last[i] = &short
		}
	}
	return last
}

// What is known of a storage in a state.
const (
	segmentKnown = trace.GaveAddr | trace.GaveRequested | trace.GaveAllocated | trace.GaveActive | trace.GaveDevice | trace.GaveSize
	blockKnown   = trace.GaveAddr | trace.GaveRequested | trace.GaveState | trace.GaveSize
)

func stateOf(alive map[uint64]trace.Event) trace.State {
	segments := make([]trace.Segment, 0, len(alive))
	for addr, e := range alive {
		block := trace.Block{Addr: addr, Size: e.Size, Requested: e.Size, Stack: e.Stack, Note: e.Note, State: trace.Allocated, Given: blockKnown}
		segments = append(segments, trace.Segment{
			Addr: addr, Size: e.Size, Allocated: e.Size, Active: e.Size, Requested: e.Size,
			Blocks: []trace.Block{block}, Given: segmentKnown,
		})
	}
	slices.SortFunc(segments, func(a, b trace.Segment) int {
		if a.Addr < b.Addr {
			return -1
		}
		return 1
	})
	return trace.State{Segments: segments}
}

// pastGauges are some of the gauges that came, so that a new viewer sees at once how
// memory grew: the last ones, and of those before them ever fewer, from the first on.
type pastGauges struct {
	recent, older [][]trace.Gauge
	every, passed int // of the older ones, one in so many is kept
}

// gaugesKept is how many readings are kept, of the last and of those before.
const gaugesKept = 64

func (p *pastGauges) add(g []trace.Gauge) {
	if p.recent = append(p.recent, g); len(p.recent) <= gaugesKept {
		return
	}
	oldest := p.recent[0]
	p.recent = slices.Delete(p.recent, 0, 1)
	if p.passed++; len(p.older) > 0 && p.passed < p.every {
		return
	}
	p.older, p.passed = append(p.older, oldest), 0
	if len(p.older) > gaugesKept {
		kept := p.older[:0]
		for i := 0; i < len(p.older); i += 2 {
			kept = append(kept, p.older[i])
		}
		p.older, p.every = kept, max(1, p.every)*2
	}
}

func (p *pastGauges) values() []trace.Gauge {
	return slices.Concat(slices.Concat(p.older...), slices.Concat(p.recent...))
}
