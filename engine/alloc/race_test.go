package alloc

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestManyGoroutinesShareAnAllocator is for the race detector; afterwards the
// books still balance.
func TestManyGoroutinesShareAnAllocator(t *testing.T) {
	for name, config := range map[string]string{
		"the defaults":      "",
		"the lock released": "release_lock_on_cudamalloc:True",
		"expandable":        "expandable_segments:True",
	} {
		t.Run(name, func(t *testing.T) {
			d := &guarded{memory: newMemory(t, 300*mib)}
			a := newAllocator(t, d, Options{Config: config, History: 1000, Stacks: true, Recorder: &sink{}})
			var wait sync.WaitGroup
			for seed := range uint64(4) {
				wait.Go(func() { churn(a, seed) })
			}
			wait.Go(func() { watch(a) })
			wait.Wait()
			checkRecount(t, a)
			a.EmptyCache()
			if free, total := d.MemInfo(); free != total {
				t.Errorf("%d bytes are left at the end", total-free)
			}
		})
	}
}

// guarded is a driver that may be called while the allocator is unlocked.
type guarded struct {
	mu sync.Mutex
	*memory
}

func (g *guarded) Malloc(size int64) (uint64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.memory.Malloc(size)
}

func (g *guarded) Free(addr uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.memory.Free(addr)
}

func (g *guarded) MemInfo() (free, total int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.memory.MemInfo()
}

// churn allocates and frees, and reads what it was given without a lock.
func churn(a *Allocator, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 9))
	tag := a.Tag(Label{Category: trace.Category(seed % uint64(trace.CategoryCount)), Layer: "layer"})
	var held []Allocation
	for range 400 {
		if len(held) > 20 || len(held) > 0 && rnd.IntN(3) == 0 {
			i := rnd.IntN(len(held))
			if held[i].Addr()%trace.MinBlock != 0 || held[i].Size() < held[i].Requested() || held[i].Stream() > 2 {
				panic("a block changed under its owner")
			}
			a.RecordStream(held[i], Stream(rnd.IntN(3)))
			a.Retag(held[i], tag)
			a.Free(held[i])
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
			continue
		}
		if b, err := deep(a, rnd.IntN(30), randomSize(rnd), Stream(rnd.IntN(3)), tag); err == nil {
			held = append(held, b)
		}
	}
	for _, b := range held {
		a.Free(b)
	}
}

// deep allocates under a stack of its own, so that new ones keep coming.
func deep(a *Allocator, depth int, n int64, s Stream, tag Tag) (Allocation, error) {
	if depth > 0 {
		return deep(a, depth-1, n, s, tag)
	}
	return a.Alloc(n, s, tag)
}

// watch looks at everything that can be looked at, and changes what may be
// changed at any time.
func watch(a *Allocator) {
	for i := range 20 {
		tr := a.Snapshot()
		for k := range tr.Devices[0].Events.Len() {
			e := tr.Devices[0].Events.At(k)
			for _, f := range tr.Tables.Stack(e.Stack) {
				_ = tr.Tables.FrameText(f)
			}
		}
		stats := a.Stats()
		_ = stats.Breakdown()
		_ = a.Settings()
		a.SetLimit(200*mib + int64(i)*mib)
		a.Mark(trace.StepBegin, int64(i), "")
		if i%10 == 0 {
			a.EmptyCache()
			a.ResetPeak()
		}
	}
}

// BenchmarkPair measures a free and an alloc among live blocks of mixed sizes,
// as a training step makes them, with and without a history. Run it with
//
//	go test -run '^$' -bench Pair ./engine/alloc
func BenchmarkPair(b *testing.B) {
	for name, test := range map[string]struct {
		live    int
		options Options
	}{
		"100 live":                        {100, Options{}},
		"1000 live":                       {1000, Options{}},
		"1000 live, recording":            {1000, Options{History: 1 << 16}},
		"1000 live, recording, tagged":    {1000, Options{History: 1 << 16, Recorder: &sink{}}},
		"10000 live, recording":           {10000, Options{History: 1 << 16}},
		"1000 live, recording the stacks": {1000, Options{History: 1 << 16, Stacks: true}},
	} {
		b.Run(name, func(b *testing.B) { benchmarkPair(b, test.live, test.options) })
	}
}

func benchmarkPair(b *testing.B, live int, o Options) {
	b.Helper()
	a := newAllocator(b, newMemory(b, 1<<44), o)
	rnd := rand.New(rand.NewPCG(1, 2))
	sizes := make([]int64, 4096)
	for i := range sizes {
		sizes[i] = randomSize(rnd)
	}
	tag := a.Tag(Label{Category: trace.Activation, Layer: "blocks.0.attn", Role: "probs"})
	blocks := make([]Allocation, live)
	for i := range blocks {
		blocks[i], _ = a.Alloc(sizes[i%len(sizes)], 0, tag)
	}
	order := rnd.Perm(1 << 16)
	pair := func(i int) {
		at := order[i&(1<<16-1)] % live
		a.Free(blocks[at])
		blocks[at], _ = a.Alloc(sizes[i&4095], 0, tag)
	}
	for i := range 1 << 18 { // the cache grows to what the sizes need
		pair(i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		pair(i)
		i++
	}
}
