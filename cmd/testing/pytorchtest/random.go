package pytorchtest

import (
	"fmt"
	"math/rand/v2"

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

// program is what uses the simulated allocator.
type program struct {
	random      *rand.Rand
	in          *trace.Interner
	options     Options
	stacks      []trace.StackID
	lines       trace.ListID
	allocator   *Allocator
	annotations []trace.Annotation
	open        []trace.StringID // annotated ranges that have begun
}

func (p *program) run(device int) trace.Device {
	p.allocator = &Allocator{
		Expandable: p.options.Expandable, device: device, capacity: 256 << 20,
		recorder: &recorder{in: p.in, now: clockStart, freeSite: p.options.FreeSites},
	}
	for range p.options.Operations {
		p.step()
		if p.options.Watch != nil {
			p.options.Watch(device, p.allocator.recorder.log.Len()-1, p.allocator.final())
		}
	}
	events := p.allocator.recorder.log.Events()
	d := trace.Device{ID: device, Final: p.allocator.final(), Events: events}
	if n := p.options.Ring; n > 0 && events.Len() > n {
		d.Events = events.Slice(events.Len()-n, events.Len())
	}
	return d
}

// step does one random thing.
func (p *program) step() {
	r := p.allocator.recorder
	r.stack = p.stacks[p.random.IntN(len(p.stacks))]
	r.note = trace.Note{CompileContext: p.in.String("N/A"), UserMetadata: p.in.String("")}
	switch at := p.random.IntN(100); {
	case at < 50:
		p.allocate()
	case at < 85:
		p.free()
	case at < 92:
		p.complete()
	case at < 95:
		p.annotate()
	case at < 97:
		p.annotateBlock()
	case at < 98:
		r.add(trace.Event{Kind: trace.Snapshot, Size: p.active(), Stack: r.stack, Note: r.plain(trace.Pool{})})
	default:
		p.allocator.EmptyCache()
	}
}

func (p *program) allocate() {
	r := p.allocator.recorder
	sizes := []int64{1, 700, 4096, 300 << 10, 1 << 20, 3 << 20, 9 << 20, 11 << 20, 41 << 20}
	n := sizes[p.random.IntN(len(sizes))]
	n += p.random.Int64N(n)
	if p.random.IntN(4) == 0 {
		r.note.Forward = p.lines
	}
	if n%13 == 0 {
		r.note.Internal = p.in.String(trace.AtAddress)
	}
	if p.random.IntN(10) == 0 {
		r.note.CompileContext = p.in.String("Torch-Compiled Region: 0/0")
	}
	pools := []trace.Pool{{0, 0}, {0, 0}, {0, 0}, {0, 1}, {3, 0}}
	streams := []uint64{0, 0, 0, 0x5e2f31c0}
	p.allocator.malloc(n, pools[p.random.IntN(len(pools))], streams[p.random.IntN(len(streams))])
}

func (p *program) free() {
	if b := p.pick(func(b *block) bool { return b.live }); b != nil {
		p.allocator.request(b, p.random.IntN(6) == 0)
	}
}

func (p *program) complete() {
	if b := p.pick(func(b *block) bool { return b.pending }); b != nil {
		p.allocator.complete(b)
	}
}

func (p *program) pick(is func(*block) bool) *block {
	all := p.allocator.live(is)
	if len(all) == 0 {
		return nil
	}
	return all[p.random.IntN(len(all))]
}

func (p *program) active() int64 {
	var sum int64
	for _, b := range p.allocator.live(func(b *block) bool { return !b.free() }) {
		sum += b.size
	}
	return sum
}

// annotateBlock annotates a live block after its allocation, as PyTorch 2.14 can.
func (p *program) annotateBlock() {
	r := p.allocator.recorder
	b := p.pick(func(b *block) bool { return b.live })
	if b == nil {
		return
	}
	r.note.UserMetadata = p.in.String(fmt.Sprintf("tensor %d", p.random.IntN(5)))
	r.add(trace.Event{
		Kind: trace.Annotate, Addr: b.addr, Stream: p.in.Stream(b.segment.stream), Stack: r.stack,
		Note: r.plain(b.segment.pool),
	})
}

func (p *program) annotate() {
	a := trace.Annotation{Device: int32(p.allocator.device), Time: p.allocator.recorder.now}
	if n := len(p.open); n > 0 && p.random.IntN(2) == 0 {
		a.Name, a.Stage = p.open[n-1], p.in.String("END")
		p.open = p.open[:n-1]
	} else {
		a.Name, a.Stage = p.in.String(fmt.Sprintf("ProfilerStep#%d", p.random.IntN(9))), p.in.String("START")
		p.open = append(p.open, a.Name)
	}
	p.annotations = append(p.annotations, a)
}
