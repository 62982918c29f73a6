package replay

import (
	"context"
	"fmt"
	"strings"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/trace"
)

// recording drives an allocator through a recorded trace and compares what the
// allocator does with what was recorded, event by event.
//
// The driver answers with the addresses of the recording, and has no memory
// where the recording got none. Everything else the allocator decides.
type recording struct {
	a      *alloc.Allocator
	tables *trace.Tables
	pools  trace.Pools
	events trace.Events
	at     int      // the event to come
	done   int      // events of the allocator that came out right
	wrong  string   // what went otherwise first, "" when nothing did
	own    []uint64 // the allocator's streams
	blocks map[uint64]alloc.Allocation
	spent  effort
	waits

	nowhere  uint64     // addresses that were reserved and got no memory
	unshared trace.Pool // had a block for what went otherwise, as far as the replay goes
}

// tokenStream is the stream that stands for all others that used a block.
const tokenStream = alloc.Stream(1<<64 - 1)

// rejects is the setting that refuses requests by the size of the device.
const rejects = "throw_on_cudamalloc_oom"

// pace is after how many events a replay looks whether it is called off.
const pace = 1 << 12

// newRecording puts an allocator with the recorded settings into the state before
// the first event.
func newRecording(t *trace.Trace, d *trace.Device, settings string, rules alloc.Rules, base *trace.State, whole []trace.Pool) (*recording, error) {
	r := &recording{tables: t.Tables, events: d.Events, pools: trace.NewPools(t, d), waits: newWaits()}
	if strings.Contains(settings, rejects) {
		settings += "," + rejects + ":False" // the recording shows what was refused; the device's memory it does not
	}
	a, err := alloc.New(r, alloc.Options{Device: d.ID, Config: settings, Rules: rules})
	if err != nil {
		return nil, err
	}
	r.a = a
	makeWhole(a, whole)
	if _, limited := a.Limit(); limited {
		a.SetLimit(plenty) // the recording shows where there was no more
	}
	if r.blocks, err = a.Restore(t.Tables, base, tokenStream); err != nil {
		return nil, err
	}
	r.waits.restored(base)
	a.Observe(r)
	r.skip()
	return r, nil
}

// run replays all events, or until something goes otherwise.
func (r *recording) run(ctx context.Context) error {
	for steps := 0; r.wrong == "" && r.at < r.events.Len(); steps++ {
		if steps%pace == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		before := r.at
		if e := r.next(); e.Kind == trace.FreeRequested {
			r.free(e)
		} else {
			r.request()
		}
		if r.at == before && r.wrong == "" {
			r.wrong = fmt.Sprintf("nothing happened, the recording has %s", describe(r.next(), r.tables.Streams))
		}
	}
	return nil
}

// skip goes on to the next event that an allocator makes.
func (r *recording) skip() { r.at = ours(r.events, r.at) }

// ours returns the first event from at on that an allocator makes.
func ours(events trace.Events, at int) int {
	for at < events.Len() {
		if k := events.At(at).Kind; k <= trace.OOM && k != trace.Other {
			break
		}
		at++
	}
	return at
}

// next returns the event to come, nil at the end.
func (r *recording) next() *trace.Event {
	if r.at == r.events.Len() {
		return nil
	}
	return r.events.At(r.at)
}

// Record compares one event.
func (r *recording) Record(_ int, e trace.Event) {
	want := r.next()
	if int(e.Stream) >= len(r.own) {
		r.own = r.a.Names().Tables().Streams
	}
	switch {
	case r.wrong != "":
	case want == nil:
		r.wrong = fmt.Sprintf("after the end the replay has %s", describe(&e, r.own))
	case e.Kind != want.Kind || e.Size != want.Size || r.own[e.Stream] != r.tables.Streams[want.Stream] ||
		e.Kind != trace.OOM && e.Addr != want.Addr:
		if e.Kind == trace.Alloc {
			r.unshared = r.pools.Of(want)
		}
		r.wrong = fmt.Sprintf("the replay has %s, the recording %s", describe(&e, r.own), describe(want, r.tables.Streams))
	default:
		if e.Kind == trace.FreeCompleted {
			r.waits.over(e.Addr)
		}
		r.at, r.done = r.at+1, r.done+1
		r.skip()
	}
}

func describe(e *trace.Event, streams []uint64) string {
	return fmt.Sprintf("%s of %d bytes at %#x on stream %d", e.Kind, e.Size, e.Addr, streams[e.Stream])
}

// free frees a block, which stays pending when the recording does not complete
// the free at once.
func (r *recording) free(e *trace.Event) {
	b, ok := r.blocks[e.Addr]
	if !ok {
		r.wrong = fmt.Sprintf("%#x is freed and was never allocated", e.Addr)
		return
	}
	delete(r.blocks, e.Addr)
	if r.pends() {
		r.a.RecordStream(b, tokenStream)
		r.waits.freed(e.Addr)
	}
	r.a.Free(b)
}

// pends reports whether the free that comes now leaves its block pending. One that is
// completed right before a request that finds no memory may have been completed by
// it. It is if nothing else is pending, which would have come first; if not, the
// request completes it no later.
func (r *recording) pends() bool {
	at := completes(r.events, r.at)
	return at < 0 || r.waits.none() && r.call(at).forced
}

// completes returns the event that completes the free requested at event i at once,
// −1 when other events come first.
func completes(events trace.Events, i int) int {
	e := events.At(i)
	at := ours(events, i+1)
	if at == events.Len() {
		return -1
	}
	if next := events.At(at); next.Kind != trace.FreeCompleted || next.Addr != e.Addr {
		return -1
	}
	return at
}
