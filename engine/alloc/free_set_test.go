package alloc

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// naiveSet is what a freeSet must be: a sorted list.
type naiveSet []*block

func (n naiveSet) sort() {
	slices.SortFunc(n, func(x, y *block) int {
		return cmp.Or(cmp.Compare(x.set.stream.handle, y.set.stream.handle), cmp.Compare(x.size, y.size), cmp.Compare(x.addr, y.addr))
	})
}

func (n naiveSet) first(s Stream, size int64) *block {
	for _, b := range n {
		if b.set.stream.handle == s && b.size >= size {
			return b
		}
	}
	return nil
}

func (n naiveSet) largestBelow(s Stream, size int64) []*block {
	var list []*block
	for _, b := range slices.Backward(n) {
		if b.set.stream.handle == s && b.size < size {
			list = append(list, b)
		}
	}
	return list
}

func TestTheFreeSetIsASortedList(t *testing.T) {
	for name, sizes := range map[string]int64{"many sizes": 400, "few sizes, so marks": 3} {
		t.Run(name, func(t *testing.T) { changeSet(t, sizes) })
	}
}

func changeSet(t *testing.T, sizes int64) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(5, 6))
	p := &pool{}
	streams := []*freeSet{p.freeOf(&stream{handle: 9}), p.freeOf(&stream{handle: 1 << 63}), p.freeOf(&stream{handle: 0})}
	var naive naiveSet
	change := func(b *block) {
		b.size = 512 * (1 + rnd.Int64N(sizes))
		b.addr = 512 * rnd.Uint64N(1<<40)
	}
	for step := range 20000 {
		switch n := rnd.IntN(10); {
		case n < 5 && len(naive) < 1000 || len(naive) == 0:
			b := &block{set: streams[rnd.IntN(len(streams))]}
			change(b)
			b.set.add(b)
			naive = append(naive, b)
		case n < 8:
			b := naive[rnd.IntN(len(naive))]
			b.set.remove(b)
			change(b)
			b.set.add(b)
		default:
			i := rnd.IntN(len(naive))
			naive[i].set.remove(naive[i])
			naive = slices.Delete(naive, i, i+1)
		}
		if step%40 == 0 {
			naive.sort()
			compareSets(t, p, naive, streams[rnd.IntN(len(streams))], 512*rnd.Int64N(sizes+2))
		}
	}
}

func compareSets(t *testing.T, p *pool, naive naiveSet, set *freeSet, size int64) {
	t.Helper()
	if got := p.allFree(); !slices.Equal(got, naive) {
		t.Fatalf("all: %d blocks, want %d, in this order", len(got), len(naive))
	}
	s := set.stream.handle
	if got, want := set.first(size), naive.first(s, size); got != want {
		t.Errorf("the first of %d bytes of stream %d: got %v, want %v", size, s, got, want)
	}
	if got, want := set.largestBelow(size), naive.largestBelow(s, size); !slices.Equal(got, want) {
		t.Errorf("those below %d bytes of stream %d: got %d, want %d", size, s, len(got), len(want))
	}
	marked := 0
	for _, b := range naive {
		if b.set == set && b.marked {
			marked++
		}
	}
	for _, marks := range set.marks {
		marked -= len(marks)
	}
	if marked != 0 {
		t.Errorf("%d more blocks of stream %d are marked than it has marks", marked, s)
	}
}

// recount is what the statistics must be, counted from a snapshot.
type recount struct {
	allocation, active, segment, inactiveSplit              [poolKinds]int64
	allocatedBytes, activeBytes, reservedBytes, inactiveSum [poolKinds]int64
	requestedBytes                                          [poolKinds]int64
	category                                                map[string]int64
	inUse, rounding, pendingFree, releasable                int64
}

// checkRecount compares the statistics with a snapshot, and checks what must
// hold in every state.
func checkRecount(t testing.TB, a *Allocator) {
	t.Helper()
	stats := a.Stats()
	recorder := a.recorder
	a.recorder = nil
	tr := a.Snapshot()
	a.recorder = recorder
	c := recount{category: make(map[string]int64)}
	for i := range tr.Devices[0].Final.Segments {
		c.addSegment(t, tr.Tables, &tr.Devices[0].Final.Segments[i])
	}
	for _, k := range []poolKind{smallPool, largePool} {
		c.compare(t, &stats, k)
	}
	c.compareBreakdown(t, stats.Breakdown())
	for _, p := range tracetest.Check(tr).First {
		t.Error(p)
	}
}

func (c *recount) addSegment(t testing.TB, tables *trace.Tables, s *trace.Segment) {
	t.Helper()
	k := largePool
	if tables.Strings[s.Type] == "small" {
		k = smallPool
	}
	if !s.Expandable {
		c.segment[k]++
	}
	c.reservedBytes[k] += s.Size
	sum, free := int64(0), false
	for i := range s.Blocks {
		b := &s.Blocks[i]
		sum += b.Size
		if free && b.State == trace.Inactive {
			t.Errorf("block %#x and the one before it are both free", b.Addr)
		}
		free = b.State == trace.Inactive
		c.addBlock(tables, s, b, k)
	}
	if sum != s.Size {
		t.Errorf("the blocks of segment %#x have %d bytes, it has %d", s.Addr, sum, s.Size)
	}
}

func (c *recount) addBlock(tables *trace.Tables, s *trace.Segment, b *trace.Block, k poolKind) {
	switch b.State {
	case trace.Allocated:
		c.allocation[k]++
		c.allocatedBytes[k] += b.Size
		c.category[tables.Strings[tables.Notes[b.Note].Category]] += b.Requested
		c.inUse += b.Requested
		c.rounding += b.Size - b.Requested
	case trace.PendingFree:
		c.pendingFree += b.Size
	default:
		if s.Expandable || len(s.Blocks) == 1 {
			c.releasable += b.Size
		} else {
			c.inactiveSplit[k]++
			c.inactiveSum[k] += b.Size
		}
		return
	}
	c.active[k]++
	c.activeBytes[k] += b.Size
	c.requestedBytes[k] += b.Requested
}

func (c *recount) compare(t testing.TB, stats *Stats, k poolKind) {
	t.Helper()
	for name, pair := range map[string]struct {
		got  *PoolCounter
		want [poolKinds]int64
	}{
		"allocation":           {&stats.Allocation, c.allocation},
		"active":               {&stats.Active, c.active},
		"segment":              {&stats.Segment, c.segment},
		"inactive_split":       {&stats.InactiveSplit, c.inactiveSplit},
		"allocated_bytes":      {&stats.AllocatedBytes, c.allocatedBytes},
		"active_bytes":         {&stats.ActiveBytes, c.activeBytes},
		"reserved_bytes":       {&stats.ReservedBytes, c.reservedBytes},
		"inactive_split_bytes": {&stats.InactiveSplitBytes, c.inactiveSum},
		"requested_bytes":      {&stats.RequestedBytes, c.requestedBytes},
	} {
		if got := pair.got.of(k).Current; got != pair.want[k] {
			t.Errorf("%s of pool %d: %d in the statistics, %d in the snapshot", name, k, got, pair.want[k])
		}
		if sum := pair.got.Small().Current + pair.got.Large().Current; sum != pair.got.All.Current {
			t.Errorf("%s: %d in all, %d in the pools", name, pair.got.All.Current, sum)
		}
		if pair.got.All.Peak < pair.got.All.Current {
			t.Errorf("%s: peak %d, now %d", name, pair.got.All.Peak, pair.got.All.Current)
		}
	}
}

func (c *recount) compareBreakdown(t testing.TB, b Breakdown) {
	t.Helper()
	for i, got := range b.Category {
		name := trace.Category(i).String()
		want := c.category[name]
		if trace.Category(i) == trace.OtherCategory {
			want += c.category[""]
		}
		if got != want {
			t.Errorf("category %s: %d bytes counted, %d in the snapshot", name, got, want)
		}
	}
	if b.Requested() != c.inUse || b.Rounding != c.rounding || b.PendingFree != c.pendingFree || b.Releasable != c.releasable {
		t.Errorf("counted %+v, in the snapshot: in use %d, rounding %d, pending %d, releasable %d",
			b, c.inUse, c.rounding, c.pendingFree, c.releasable)
	}
	if sum := b.Requested() + b.Rounding + b.PendingFree + b.InactiveSplit + b.Releasable; sum != b.Reserved {
		t.Errorf("the parts of reserved memory add up to %d, not to %d", sum, b.Reserved)
	}
}
