package trace

import (
	"cmp"
	"slices"
)

// BlockSizes knows the sizes of the blocks that a device's allocations got. The
// events have the requested sizes. A block is larger: the allocator rounds the
// request up, see [Geometry], and may leave the rest of a free block on it. So
// BlockSizes plays the events forward, see "Playing forward", from the trace's
// base or from the base that [Rewind] finds. An event that was made up to bridge
// a gap gets the block size that the rules give. A BlockSizes is owned by one
// goroutine; once it is no longer advanced, any goroutine may read it.
type BlockSizes struct {
	rules
	memory
	rests []rest        // of allocations that the trace makes, by id
	held  map[int]int64 // sizes of the blocks of those from before
	n     int           // events played
}

// rest is the number of bytes by which a block exceeds its rounded request.
type rest struct {
	id    AllocationID
	bytes int64
}

// NewBlockSizes plays the events of a device of a trace. The argument life has
// the device's lifetimes.
func NewBlockSizes(t *Trace, d *Device, life *Lifetimes) *BlockSizes {
	b := &BlockSizes{rules: newRules(t), memory: newMemory(d.ID), held: make(map[int]int64)}
	base := d.Base
	if base == nil {
		past, _ := Rewind(t, d)
		base = &past
	}
	b.load(&b.memory, *base, func(string, ...any) {}) // what makes no sense has no size
	for k := range life.Held {
		if i, ok := b.find(life.Held[k].Addr); ok {
			b.held[k] = b.links[i].Size
		}
	}
	b.Advance(t, d)
	return b
}

// Advance plays the events that are new since the last call. The device must have
// the same base.
func (b *BlockSizes) Advance(t *Trace, d *Device) {
	b.tables = t.Tables
	var gaps []Gap
	if t.Live != nil {
		gaps = t.Live.Gaps
	}
	b.replay(&b.memory, d.Events, b.n, gaps, b.played)
	b.n = d.Events.Len()
}

// played notes the rest that an allocation got.
func (b *BlockSizes) played(i int, e *Event) {
	if e.Kind != Alloc {
		return
	}
	at, _ := b.find(e.Addr)
	if more := b.links[at].Size - b.geometry.Round(e.Size); more != 0 {
		b.rests = append(b.rests, rest{AllocationID(i), more})
	}
}

// Of returns the size of an allocation's block. If the events contradict each
// other, it returns the rounded request.
func (b *BlockSizes) Of(a *Allocation) int64 {
	if k, held := a.ID.Held(); held {
		if size, ok := b.held[k]; ok {
			return size
		}
		return b.geometry.Round(a.Size)
	}
	size := b.geometry.Round(a.Size)
	if at, ok := slices.BinarySearchFunc(b.rests, a.ID, func(r rest, id AllocationID) int { return cmp.Compare(r.id, id) }); ok {
		size += b.rests[at].bytes
	}
	return size
}
