package replay

import (
	"math/rand/v2"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/trace"
)

const mib = 1 << 20

// random is a program that makes calls which a replay can tell from the events:
// there is one side stream and no private pool.
type random struct {
	t      *testing.T
	rnd    *rand.Rand
	driver *counted
	a      *alloc.Allocator
	held   []alloc.Allocation
	ooms   int
}

func newRandom(t *testing.T, seed uint64, total int64, o alloc.Options) *random {
	t.Helper()
	r := &random{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), driver: newCounted(total)}
	a, err := alloc.New(r.driver, o)
	fatal.If(t, err)
	r.a = a
	return r
}

func (r *random) step() {
	switch n := r.rnd.IntN(1000); {
	case n < 520 || len(r.held) == 0:
		b, err := r.a.Alloc(1+r.rnd.Int64N(2<<20), alloc.Stream(r.rnd.IntN(2)), alloc.Tag{})
		if err != nil {
			r.ooms++
			return
		}
		r.held = append(r.held, b)
	case n < 900:
		r.a.Free(r.take())
	case n < 950:
		b := r.take()
		r.a.RecordStream(b, 5)
		r.a.Free(b)
	case n < 995:
		for e := range r.driver.last {
			r.driver.ready[e+1] = true // all that is queued has happened
		}
	default:
		r.a.EmptyCache()
	}
}

func (r *random) take() alloc.Allocation {
	i := r.rnd.IntN(len(r.held))
	b := r.held[i]
	r.held = append(r.held[:i], r.held[i+1:]...)
	return b
}

// trace records so many calls and returns the last events.
func (r *random) trace(calls int) *trace.Trace {
	for range calls {
		r.step()
	}
	return r.a.Snapshot()
}

// TestOwnTracesFromTheBeginReplayEventByEvent replays programs that run out of memory
// again and again. There is nothing that a replay has to guess.
func TestOwnTracesFromTheBeginReplayEventByEvent(t *testing.T) {
	for name, config := range map[string]string{
		"the defaults": "", "expandable segments": "expandable_segments:True", "oversize blocks": "max_split_size_mb:21",
		"divided powers of two": "roundup_power2_divisions:4",
	} {
		t.Run(name, func(t *testing.T) {
			ooms := 0
			for seed := range uint64(12) {
				r := newRandom(t, seed, 150*mib, alloc.Options{Config: config, History: 1 << 20})
				tr := r.trace(3000)
				follow(t, tr, &tr.Devices[0], true)
				ooms += r.ooms
			}
			if ooms == 0 {
				t.Error("no request failed: the programs are too tame")
			}
		})
	}
}

// TestOwnTracesReplayEventByEvent replays what our allocator recorded itself, from
// the middle on: it shows that the replay of the conformance test does what it
// should with pending frees, emptied caches, failures and expandable segments,
// which the public traces hardly have.
func TestOwnTracesReplayEventByEvent(t *testing.T) {
	for name, config := range map[string]string{
		"the defaults": "", "expandable segments": "expandable_segments:True",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRandom(t, 7, 150*mib, alloc.Options{Config: config, History: 4000})
			tr := r.trace(4000)
			if !tr.Devices[0].Overflowed {
				t.Error("the recording does not begin in the middle")
			}
			stats := r.a.Stats()
			if r.ooms == 0 || stats.DeviceFrees == 0 || stats.SyncAllStreams == 0 {
				t.Errorf("%d failures, %d segments back, %d waits: the program is too tame",
					r.ooms, stats.DeviceFrees, stats.SyncAllStreams)
			}
			follow(t, tr, &tr.Devices[0], true)
		})
	}
}
