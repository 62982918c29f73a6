package replay

import (
	"context"
	"errors"
	"strings"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
)

// program repeats a program's recorded calls on an allocator with its own
// settings. It leaves out segments, which the recorded allocator made by itself.
type program struct {
	*counted
	question *question
	a        *alloc.Allocator
	blocks   map[uint64]alloc.Allocation // by the recorded address
	run      whatif.Run
	graphs   whatif.GraphChange
	level    int64 // reserved in the recording
	judged   int   // the event up to which releases of memory are judged
	spent    effort
	failures int // requests that failed in the recording and are still to come
}

// triedOOMs is how many of the last failed requests of the recording are
// repeated: a program that keeps trying leaves thousands of equal ones.
const triedOOMs = 64

// newProgram returns the program before its first request. The error is about the
// settings.
func newProgram(q *question, t trial) (*program, error) {
	p := &program{
		counted: newCounted(q.memory()), question: q, blocks: make(map[uint64]alloc.Allocation), level: q.curve.begin, graphs: t.graphs,
		failures: q.curve.ooms, run: whatif.Run{Settings: t.settings, Torch: t.release, OOMEvent: -1, Note: q.otherwise(t)},
	}
	a, err := alloc.New(p, alloc.Options{Device: q.Device.ID, Config: t.settings, Rules: t.rules})
	if err != nil {
		return nil, err
	}
	p.a = a
	makeWhole(a, q.whole)
	_, limited := a.Limit()
	switch {
	case !limited || q.Memory > 0:
	case q.limited:
		a.SetLimit(q.memory()) // the recorded limit is unknown: all recorded memory is within it
		p.note("the memory fraction is left out: the file does not say of how much it is")
	default:
		return nil, errUnknownMemory
	}
	if !limited && collects(a) {
		p.note("garbage_collection_threshold does nothing without a memory fraction")
	}
	return p, nil
}

// note adds to what is to know of the run.
func (p *program) note(text string) { p.run.Note = strings.TrimPrefix(p.run.Note+"; "+text, "; ") }

var errUnknownMemory = errors.New("a memory fraction is of what the device has, which the file does not say")

// collects reports whether a threshold for collecting garbage is set.
func collects(a *alloc.Allocator) bool {
	for _, s := range a.Settings() {
		if v, ok := s.Value.(float64); ok && s.Key == "garbage_collection_threshold" && v > 0 {
			return true
		}
	}
	return false
}

// do makes all calls.
func (p *program) do(ctx context.Context) error {
	p.hold()
	for i := 0; i < p.question.Device.Events.Len() && !p.run.Ends; i++ {
		if i%pace == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p.event(i)
		if len(p.question.Graphs) > 0 && i == p.question.Captured {
			stats := p.a.Stats()
			p.run.Captured = stats.Reserved()
		}
	}
	stats := p.a.Stats()
	p.run.PeakReserved, p.run.PeakAllocated = stats.ReservedBytes.All.Peak, stats.AllocatedBytes.All.Peak
	return nil
}

// hold repeats the requests of memory held when recording began, in order of
// address.
func (p *program) hold() {
	t := p.question.Trace.Tables
	p.allow()
	for i := range p.question.start.state.Segments {
		s := &p.question.start.state.Segments[i]
		for k := range s.Blocks {
			b := &s.Blocks[k]
			if !b.State.Live() || p.run.Ends {
				continue
			}
			end := divertTo(p.a, p.graphs.Pool(t.Pools[s.Pool]))
			p.alloc(-1, b.Addr, b.LiveRequested(), alloc.Stream(t.Streams[s.Stream]))
			end()
			if b.State == trace.PendingFree {
				p.free(b.Addr, true)
			}
		}
	}
}

func (p *program) event(i int) {
	e := p.question.Device.Events.At(i)
	if e.Kind == trace.SegmentFree || e.Kind == trace.SegmentUnmap {
		p.released(i)
	}
	p.level += e.ReservedDelta()
	p.allow()
	switch e.Kind {
	case trace.Alloc:
		if p.leads(i, e) {
			return
		}
		id := p.question.pools.Of(e)
		if p.graphs.Omits(i, id) {
			return
		}
		end := divertTo(p.a, p.graphs.Pool(id))
		p.alloc(i, e.Addr, e.Size, p.streamOf(e))
		end()
	case trace.FreeRequested:
		p.free(e.Addr, completes(p.question.Device.Events, i) < 0)
	case trace.FreeCompleted:
		if !p.completed(e.Addr) {
			p.free(e.Addr, false)
		}
	case trace.Free:
		p.free(e.Addr, false)
	case trace.OOM:
		p.failed(i, e)
	default: // other events are the allocator's own, or no calls
	}
}

// leads reports whether an allocation only led PyTorch's allocator to an address
// that was asked for. It is freed right after the one there, and an allocator
// that chooses addresses itself has no use for it.
func (p *program) leads(i int, e *trace.Event) bool {
	t, events := p.question.Trace.Tables, p.question.Device.Events
	if t.Internal(e.Note) != trace.AtAddress {
		return false
	}
	next := ours(events, i+1) // the allocation there
	if next = ours(events, next+1); next >= events.Len() {
		return false
	}
	free := events.At(next)
	return free.Kind == trace.FreeRequested && free.Addr == e.Addr && t.Internal(free.Note) == trace.AtAddress
}

// allow gives the process the memory that it has in the recording, unless the
// question sets the amount.
func (p *program) allow() {
	if p.question.Memory == 0 {
		p.SetCapacity(max(p.question.memory(), p.level))
	}
}

func (p *program) streamOf(e *trace.Event) alloc.Stream {
	return alloc.Stream(p.question.Trace.Tables.Streams[e.Stream])
}

// alloc repeats a request that succeeded in the recording.
func (p *program) alloc(i int, addr uint64, size int64, s alloc.Stream) {
	p.free(addr, false) // a damaged recording may allocate an address twice
	if size <= 0 {
		return
	}
	b, err := p.a.Alloc(size, s, alloc.Tag{})
	if err != nil {
		p.fails(i, err)
		p.run.Ends = true
		return
	}
	p.blocks[addr] = b
}

func (p *program) fails(i int, err error) {
	if !errors.Is(err, alloc.ErrNoMemory) {
		p.run.Note = err.Error()
	}
	if !p.run.OOM {
		p.run.OOM, p.run.OOMEvent = true, i
	}
}

// free frees a block, which stays pending until the recording completes the free if
// others still use it.
func (p *program) free(addr uint64, pending bool) {
	b, ok := p.blocks[addr]
	if !ok {
		return
	}
	delete(p.blocks, addr)
	if pending {
		p.a.RecordStream(b, tokenStream)
		p.freed(addr)
	}
	p.a.Free(b)
}

// failed repeats a request that failed in the recording. If it succeeds now,
// failed frees the memory, because the program's use of it is unknown.
func (p *program) failed(i int, e *trace.Event) {
	asked := i == p.question.curve.oom.Event
	if p.failures--; p.failures >= triedOOMs && !asked || e.Size <= 0 {
		return
	}
	b, err := p.a.Alloc(e.Size, p.streamOf(e), alloc.Tag{})
	if err != nil {
		p.fails(i, err)
		return
	}
	if asked {
		stats := p.a.Stats()
		p.run.Fits, p.run.Reserved = true, stats.Reserved()
	}
	p.a.Free(b)
}

// released handles memory that went back to the driver in the recording. If the
// program emptied the cache, released does so too. It ignores memory that the
// allocator gave back by itself, because it ran out or because of its settings.
// Without stacks the two look alike when the next request takes new memory: then it
// was the program if the device is known to have had that much free.
func (p *program) released(i int) {
	if i < p.judged {
		return
	}
	events, grown := p.question.Device.Events, int64(0)
	at := i
	for ; at < events.Len(); at = ours(events, at+1) {
		e := events.At(at)
		if !e.Kind.Segment() && e.Kind != trace.FreeCompleted {
			break
		}
		grown += max(e.ReservedDelta(), 0)
	}
	p.judged = at
	capacity := p.question.curve.capacity()
	switch {
	case at < events.Len() && events.At(at).Kind == trace.OOM,
		grown > 0 && p.question.givesBack,
		grown > 0 && capacity > 0 && p.level+grown > capacity:
	default:
		if err := p.spent.spend(len(p.blocks)); err != nil {
			p.run.Ends, p.run.Note = true, err.Error()
			return
		}
		p.a.EmptyCache()
	}
}
