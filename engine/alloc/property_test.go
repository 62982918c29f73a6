package alloc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

// sink is a recorder that counts.
type sink struct{ events int }

func (s *sink) Record(int, trace.Event) { s.events++ }

// randomSize returns sizes as programs ask for them: many small ones, edges of
// the rules, and some that need a segment of their own.
func randomSize(rnd *rand.Rand) int64 {
	edges := []int64{
		1, 511, 512, 513, 4096, 1 << 20, 1<<20 + 1, 2 << 20, 5 << 20, 10<<20 - 1,
		10 << 20, 10<<20 + 1, 20 << 20, 20<<20 + 1, 33 << 20, 768 * 4, 768 * 3072 * 4,
	}
	switch rnd.IntN(4) {
	case 0:
		return edges[rnd.IntN(len(edges))]
	case 1:
		return 1 + rnd.Int64N(24<<20)
	default:
		return 1 + rnd.Int64N(1<<(8+rnd.IntN(13)))
	}
}

// program makes random calls and keeps what it was given.
type program struct {
	t      *testing.T
	rnd    *rand.Rand
	driver *memory
	a      *Allocator
	held   []Allocation
	tags   []Tag
	ooms   int
	pool   trace.Pool // that requests go to, if any
}

func newProgram(t *testing.T, seed uint64, o Options) *program {
	t.Helper()
	p := &program{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), driver: newMemory(t, 700<<20)}
	p.a = newAllocator(t, p.driver, o)
	for i := range trace.CategoryCount {
		p.tags = append(p.tags, p.a.Tag(Label{Category: trace.Category(i), Layer: fmt.Sprintf("blocks.%d", i)}))
	}
	return p
}

// take removes one of the held blocks and returns it.
func (p *program) take() Allocation {
	i := p.rnd.IntN(len(p.held))
	b := p.held[i]
	p.held[i] = p.held[len(p.held)-1]
	p.held = p.held[:len(p.held)-1]
	return b
}

func (p *program) step() {
	switch n := p.rnd.IntN(100); {
	case n < 48 || len(p.held) == 0:
		p.alloc()
	case n < 88:
		p.a.Free(p.take())
	case n < 92:
		p.a.RecordStream(p.held[p.rnd.IntN(len(p.held))], Stream(p.rnd.IntN(3)))
	case n < 95:
		p.driver.finish(Stream(p.rnd.IntN(3)))
	case n < 98:
		p.a.Retag(p.held[p.rnd.IntN(len(p.held))], p.tags[p.rnd.IntN(len(p.tags))])
	case n < 99:
		p.a.EmptyCache()
	default:
		p.switchPool()
	}
}

func (p *program) alloc() { p.allocOn(randomSize(p.rnd), Stream(p.rnd.IntN(3))) }

func (p *program) allocOn(n int64, s Stream) {
	b, err := p.a.Alloc(n, s, p.tags[p.rnd.IntN(len(p.tags))])
	if err == nil {
		p.held = append(p.held, b)
		return
	}
	p.ooms++
	for len(p.held) > 10 {
		p.a.Free(p.take())
	}
}

// switchPool begins or ends a stretch of requests to a private pool.
func (p *program) switchPool() {
	if p.pool == (trace.Pool{}) {
		p.pool = trace.Pool{0, int64(1 + p.rnd.IntN(3))}
		fatal.If(p.t, p.a.BeginPool(p.pool, func(s Stream) bool { return s != 1 }))
		return
	}
	fatal.If(p.t, p.a.EndPool(p.pool))
	fatal.If(p.t, p.a.ReleasePool(p.pool))
	p.pool = trace.Pool{}
}

// end frees everything and empties the cache: the driver has all memory back.
func (p *program) end() {
	if p.pool != (trace.Pool{}) {
		p.switchPool()
	}
	for len(p.held) > 0 {
		p.a.Free(p.take())
	}
	p.a.EmptyCache()
	checkRecount(p.t, p.a)
	stats := p.a.Stats()
	if free, total := p.driver.MemInfo(); stats.Reserved() != total-free {
		p.t.Errorf("%d bytes reserved, the driver gave %d", stats.Reserved(), total-free)
	}
	if left := stats.Active.All.Current; left != 0 {
		p.t.Errorf("%d blocks are active after all were freed", left)
	}
	if left := stats.Reserved(); left != 0 {
		p.t.Errorf("%d bytes are reserved after the cache was emptied", left)
	}
}

// configs are settings that programs are tried under.
var configs = map[string]string{
	"the defaults":               "",
	"oversize blocks":            "max_split_size_mb:21",
	"divided powers of two":      "roundup_power2_divisions:[1:2,2:4,4:8,>:1]",
	"collected garbage":          "garbage_collection_threshold:0.4",
	"expandable segments":        "expandable_segments:True",
	"large segments of 64 MiB":   "large_segment_size_mb:64",
	"the lock released":          "release_lock_on_cudamalloc:True",
	"several of them":            "max_split_size_mb:30,garbage_collection_threshold:0.7,roundup_power2_divisions:4",
	"expandable and an oversize": "expandable_segments:True,max_split_size_mb:25",
}

func TestRandomProgramsKeepTheRules(t *testing.T) {
	fatal.IfShort(t)
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			ooms, pending := 0, int64(0)
			for seed := range uint64(4) {
				p := newProgram(t, seed, Options{Config: config, Limit: 600 << 20, History: 1 << 20})
				for i := range 1500 {
					p.step()
					if i%50 == 0 {
						checkRecount(t, p.a)
					}
					stats := p.a.Stats()
					pending += stats.Breakdown().PendingFree
				}
				p.end()
				ooms += p.ooms
			}
			if ooms == 0 || pending == 0 {
				t.Errorf("%d requests failed and %d bytes were pending: the programs are too tame", ooms, pending)
			}
		})
	}
}

// changing are settings that treat the same memory differently.
var changing = []string{
	"", "expandable_segments:True", "expandable_segments:False,max_split_size_mb:40",
	"max_split_size_mb:25", "expandable_segments:True,roundup_power2_divisions:8",
	"garbage_collection_threshold:0.5,expandable_segments:False",
}
