package alloc

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

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
