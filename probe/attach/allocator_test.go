package attach

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestAViewerSeesWhatTheAllocatorHolds runs a program at random on the engine's
// allocator while viewers come and stay, one of them too slow for its ring, and
// compares what each arrives at with the allocator's own word, block by block.
func TestAViewerSeesWhatTheAllocatorHolds(t *testing.T) {
	tests := map[string]struct {
		ring   int // 0 for the default
		events int64
	}{
		"nothing is lost":                {0, 30_000},
		"the ring goes round in between": {512, 150_000},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := alloc.New(&heap{next: 1 << 40}, alloc.Options{Limit: 1 << 30, Stacks: true})
			must(t, err)
			shown := allocated{a, new(atomic.Int64)}
			probe := listening(t, shown, probe.Options{Ring: test.ring})
			var clients []*Client
			var running sync.WaitGroup
			running.Go(func() { atRandom(t, a, shown.recorded, test.events) })
			for range 4 {
				c, err := Dial(t.Context(), probe.Path(), DialOptions{Interval: protocol.MinInterval})
				must(t, err)
				defer shut(c)
				clients = append(clients, c)
			}
			running.Wait()
			want := blocks(a.Names().Tables(), a.State(nil))
			for i, c := range clients {
				probetest.Eventually(t, fmt.Sprintf("viewer %d to see what the allocator holds", i), func() bool {
					now := c.Trace()
					d := now.Device(0) // nil to who came before the first allocation
					return d != nil && cmp.Equal(want, blocks(*now.Tables, d.Final))
				})
				if gaps := c.Trace().Live.Gaps; test.ring == 0 && len(gaps) > 0 {
					t.Errorf("viewer %d: %+v", i, gaps)
				}
			}
		})
	}
}

// heap is a driver with endless addresses.
type heap struct{ next uint64 }

func (h *heap) Malloc(size int64) (uint64, error) {
	at := h.next
	h.next += uint64(size)
	return at, nil
}

func (h *heap) Free(uint64) {}

func (h *heap) MemInfo() (free, total int64) { return 1 << 40, 1 << 40 }

// allocated shows an allocator.
type allocated struct {
	*alloc.Allocator
	recorded *atomic.Int64 // events
}

func (a allocated) Devices() []int                     { return []int{0} }
func (a allocated) Tables() trace.Tables               { return a.Names().Tables() }
func (a allocated) State(_ int, at func()) trace.State { return a.Allocator.State(at) }

// Observe has events counted, and recorded after that.
func (a allocated) Observe(r trace.Recorder) {
	if r == nil {
		a.Allocator.Observe(nil)
		return
	}
	a.Allocator.Observe(counted{r, a.recorded})
}

// counted counts what it passes on.
type counted struct {
	trace.Recorder
	n *atomic.Int64
}

// Record passes an event on.
func (c counted) Record(device int, e trace.Event) {
	c.Recorder.Record(device, e)
	c.n.Add(1)
}

// atRandom allocates and frees until there were so many events.
func atRandom(t *testing.T, a *alloc.Allocator, recorded *atomic.Int64, events int64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	tags := []alloc.Tag{a.Tag(alloc.Label{Role: "weight"}), a.Tag(alloc.Label{Layer: "blocks.0", DType: "bf16"})}
	var held []alloc.Allocation
	began := time.Now()
	for recorded.Load() < events {
		if len(held) > 200 || len(held) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(held))
			a.Free(held[i])
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
			continue
		}
		b, err := a.Alloc(1+rng.Int64N(1<<uint(4+rng.IntN(18))), 0, tags[rng.IntN(2)])
		if err != nil {
			t.Error(err)
			return
		}
		if held = append(held, b); rng.IntN(100) == 0 {
			a.EmptyCache()
		}
	}
	t.Logf("%d events in %v", recorded.Load(), time.Since(began))
}

// blocks returns what a state says, a line for each block.
func blocks(tables trace.Tables, s trace.State) []string {
	var lines []string
	for _, segment := range s.Segments {
		lines = append(lines, fmt.Sprintf("segment %x %d %s", segment.Addr, segment.Size, tables.String(segment.Type)))
		for _, b := range segment.Blocks {
			line := fmt.Sprintf("block %x %d %v", b.Addr, b.Size, b.State)
			if b.State.Live() {
				note := tables.Notes[b.Note]
				line += fmt.Sprint(" ", b.Requested, " ", tables.String(note.Role), tables.String(note.Layer), tables.String(note.DType), " ", len(tables.Stack(b.Stack)))
			}
			lines = append(lines, line)
		}
	}
	return lines
}
