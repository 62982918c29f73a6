package pytorchtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/trace"
)

// Options describe a random trace. The zero value gives one device with a
// hundred operations.
type Options struct {
	Seed       uint64
	Devices    int  // 0 is 1
	Operations int  // per device; 0 is 100
	Expandable bool // segments are expandable
	FreeSites  bool // frees are recorded with their own stack
	Ring       int  // how many events the ring buffer keeps; 0 is all
	// Watch, when not nil, receives the true state after some events.
	Watch func(device, event int, state trace.State)
}

// Random returns a consistent trace with everything that happens in real
// traces: reuse, splits and merges, several streams with pending frees,
// pools, an emptied cache, running out of memory, annotations.
func Random(o Options) *trace.Trace {
	if o.Devices == 0 {
		o.Devices = 1
	}
	if o.Operations == 0 {
		o.Operations = 100
	}
	p := &program{
		random: rand.New(rand.NewPCG(o.Seed, 1)), in: trace.NewInterner(), options: o,
	}
	p.makeStacks()
	t := &trace.Trace{
		Info:        trace.Info{Kind: "snapshot", PickleProtocol: -1, TraceLists: o.Devices},
		Settings:    Settings(o.Expandable),
		Annotations: []trace.Annotation{},
	}
	for id := range o.Devices {
		t.Devices = append(t.Devices, p.run(id))
		t.Annotations = append(t.Annotations, p.annotations...)
		p.annotations = nil
	}
	t.Pinned = p.pinned()
	tables := p.in.View()
	t.Tables = &tables
	return t
}

// pinned returns pinned host memory, of which there is less.
func (p *program) pinned() *trace.Device {
	p.options.Expandable, p.options.Watch = false, nil
	p.options.Operations = (p.options.Operations + 9) / 10
	d := p.run(-1)
	return &d
}

// program is what uses the allocator.
type program struct {
	random      *rand.Rand
	in          *trace.Interner
	options     Options
	stacks      []trace.StackID
	lines       trace.ListID
	allocator   *allocator
	held        []held
	annotations []trace.Annotation
	open        []trace.StringID // annotated ranges that have begun
}

// held is a block in use.
type held struct {
	alloc.Allocation
	pool   trace.Pool
	stream alloc.Stream
}

func (p *program) run(device int) trace.Device {
	p.allocator, p.held = newAllocator(p, device), nil
	for range p.options.Operations {
		p.step(device)
		if p.options.Watch != nil {
			p.options.Watch(device, p.allocator.log.Len()-1, p.allocator.final(device))
		}
	}
	events := p.allocator.log.Events()
	d := trace.Device{ID: device, Final: p.allocator.final(device), Events: events}
	if n := p.options.Ring; n > 0 && events.Len() > n {
		d.Events = events.Slice(events.Len()-n, events.Len())
	}
	return d
}

// step does one random thing.
func (p *program) step(device int) {
	a := p.allocator
	a.stack = p.stacks[p.random.IntN(len(p.stacks))]
	a.note = trace.Note{CompileContext: p.in.String("N/A"), UserMetadata: p.in.String("")}
	switch at := p.random.IntN(100); {
	case at < 50:
		p.allocate()
	case at < 85:
		p.free()
	case at < 92:
		a.memory.passed += min(1, a.memory.last-a.memory.passed)
		a.Poll()
	case at < 95:
		p.annotate(device)
	case at < 97:
		p.annotateBlock()
	case at < 98:
		stats := a.Stats()
		a.add(trace.Event{Kind: trace.Snapshot, Size: stats.ActiveBytes.All.Current, Stack: a.stack, Note: a.plain(trace.Pool{})})
	default:
		a.EmptyCache()
	}
}

func (p *program) allocate() {
	a := p.allocator
	sizes := []int64{1, 700, 4096, 300 << 10, 1 << 20, 3 << 20, 9 << 20, 11 << 20, 41 << 20}
	n := sizes[p.random.IntN(len(sizes))]
	n += p.random.Int64N(n)
	if p.random.IntN(4) == 0 {
		a.note.Forward = p.lines
	}
	if n%13 == 0 {
		a.note.Internal = p.in.String(trace.AtAddress)
	}
	if p.random.IntN(10) == 0 {
		a.note.CompileContext = p.in.String("Torch-Compiled Region: 0/0")
	}
	pools := []trace.Pool{{0, 0}, {0, 0}, {0, 0}, {0, 1}, {3, 0}}
	streams := []alloc.Stream{0, 0, 0, 0x5e2f31c0}
	a.pool = pools[p.random.IntN(len(pools))]
	if private := a.pool != (trace.Pool{}); private {
		must(a.BeginPool(a.pool, nil))
		defer func() { must(errors.Join(a.EndPool(a.pool), a.ReleasePool(a.pool))) }()
	}
	stream := streams[p.random.IntN(len(streams))]
	if b, err := a.Alloc(n, stream, alloc.Tag{}); err == nil {
		p.held = append(p.held, held{b, a.pool, stream})
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (p *program) free() {
	if len(p.held) == 0 {
		return
	}
	i := p.random.IntN(len(p.held))
	b := p.held[i]
	p.held = slices.Delete(p.held, i, i+1)
	if p.random.IntN(6) == 0 {
		p.allocator.RecordStream(b.Allocation, b.stream+1)
	}
	p.allocator.Free(b.Allocation)
}

// annotateBlock annotates a live block after its allocation, as PyTorch 2.14 can.
func (p *program) annotateBlock() {
	a := p.allocator
	if len(p.held) == 0 {
		return
	}
	b := p.held[p.random.IntN(len(p.held))]
	a.note.UserMetadata = p.in.String(fmt.Sprintf("tensor %d", p.random.IntN(5)))
	a.add(trace.Event{
		Kind: trace.Annotate, Addr: b.Addr(), Stream: p.in.Stream(uint64(b.stream)), Stack: a.stack, Note: a.plain(b.pool),
	})
}

func (p *program) annotate(device int) {
	a := trace.Annotation{Device: int32(device), Time: p.allocator.now}
	if n := len(p.open); n > 0 && p.random.IntN(2) == 0 {
		a.Name, a.Stage = p.open[n-1], p.in.String("END")
		p.open = p.open[:n-1]
	} else {
		a.Name, a.Stage = p.in.String(fmt.Sprintf("ProfilerStep#%d", p.random.IntN(9))), p.in.String("START")
		p.open = append(p.open, a.Name)
	}
	p.annotations = append(p.annotations, a)
}

// Ring imitates an allocator with a ring buffer of limited size: it makes the
// snapshots that such an allocator would have given of a device of a trace.
type Ring struct {
	Trace  *trace.Trace
	Device *trace.Device
	Size   int
	// Change is what a window makes of an event; nil for nothing.
	Change func(window int, e *trace.Event)
}

// Windows returns snapshots as if taken after the numbers of events in ends,
// which ascend.
func (r *Ring) Windows(ends []int) []*trace.Trace {
	in := trace.NewInterner()
	adopt, f := in.Adopt(r.Trace.Tables), trace.NewFollower(in, 0)
	f.Describe(r.Trace.Info, r.Trace.Settings)
	base, _ := trace.Rewind(r.Trace, r.Device)
	f.Base(r.Device.ID, 0, adopt.State(base), 0, "")
	all, events := make([]*trace.Trace, 0, len(ends)), make([]trace.Event, 0, r.Device.Events.Len())
	for window, end := range ends {
		played := len(events)
		for len(events) < end {
			events = append(events, adopt.Event(r.Device.Events.At(len(events))))
		}
		f.Append(r.Device.ID, events[played:])
		now := f.Publish(nil, nil)
		w := &trace.Trace{Info: r.Trace.Info, Tables: now.Tables, Settings: r.Trace.Settings}
		w.Devices = []trace.Device{{ID: r.Device.ID, Events: r.kept(window, events)}}
		if d := now.Device(r.Device.ID); d != nil { // it has had memory
			w.Devices[0].Final = d.Final
		}
		all = append(all, w)
	}
	return all
}

// kept returns the part of some events that the ring still holds.
func (r *Ring) kept(window int, events []trace.Event) trace.Events {
	var log trace.EventLog
	for _, e := range events[max(0, len(events)-r.Size):] {
		if r.Change != nil {
			r.Change(window, &e)
		}
		log.Append(e)
	}
	return log.Events()
}
