package alloc

import "memtop/snapshots/trace"

// Free gives a block back. Its memory is not handed out again before every
// stream that used it has passed the point of the call: a block that was used
// by its own stream only is free at once, for that stream; one that others used
// is pending until their events have happened. The zero Block is ignored; a
// block that was freed before is a bug, and panics. Safe for concurrent use.
func (a *Allocator) Free(b Block) {
	if b.b == nil {
		return
	}
	site := a.callers(StacksAll)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tick()
	a.free(b.live("Free of"), site)
}

// RecordStream notes that stream s uses the block, until now or from now on.
// The block's own stream needs no note. Safe for concurrent use.
func (a *Allocator) RecordStream(b Block, s Stream) {
	if b.b == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	bl := b.live("RecordStream of")
	if s == bl.stream.handle || a.syncer == nil {
		return
	}
	user := a.streamOf(s)
	for _, u := range bl.uses {
		if u == user {
			return
		}
	}
	bl.uses = append(bl.uses, user)
}

func (a *Allocator) free(b *block, site trace.StackID) {
	k := b.pool.kind
	b.allocated, b.serial = false, 0
	a.stats.Allocation.sub(k, 1)
	a.stats.AllocatedBytes.sub(k, b.size)
	a.stats.Category[b.tag.category].sub(b.requested)
	stack := site
	if stack == 0 {
		stack = b.stack
	}
	a.record(trace.FreeRequested, b.addr, b.requested, b.stream, stack, b.tag)
	if b.size >= a.config.maxSplit {
		a.stats.OversizeAllocations.sub(1)
	}
	switch {
	case len(b.uses) == 0:
		a.complete(b, stack)
	case len(a.diverted) > 0:
		a.deferred = append(a.deferred, b)
	default:
		a.recordEvents(b)
	}
}

// complete makes a block free that nobody can be using any more, and joins it
// with its neighbours.
func (a *Allocator) complete(b *block, stack trace.StackID) {
	a.record(trace.FreeCompleted, b.addr, b.requested, b.stream, stack, b.tag)
	size, k := b.size, b.pool.kind
	blocks, bytes := int64(0), int64(0)
	for _, neighbour := range [2]*block{b.prev, b.next} {
		if n := a.merge(b, neighbour); n > 0 {
			blocks--
			bytes -= n
		}
	}
	b.tag, b.stack = Tag{}, 0
	b.pool.add(b)
	if b.split() {
		blocks++
		bytes += b.size
	}
	if !b.segment.expandable {
		a.stats.InactiveSplit.change(k, blocks)
		a.stats.InactiveSplitBytes.change(k, bytes)
	}
	a.stats.Active.sub(k, 1)
	a.stats.ActiveBytes.sub(k, size)
	a.stats.RequestedBytes.sub(k, b.requested)
}

// merge joins a neighbour to b, if there is one and it is free as b is, and
// returns how many bytes that added. The neighbour leaves its pool.
func (a *Allocator) merge(b, neighbour *block) int64 {
	if neighbour == nil || !neighbour.idle() || neighbour.mapped != b.mapped {
		return 0
	}
	if neighbour.mapped {
		neighbour.pool.free.remove(neighbour)
	} else {
		neighbour.pool.removeUnmapped(neighbour)
	}
	if b.prev == neighbour {
		b.addr = neighbour.addr
		b.link(neighbour.prev, b.next)
	} else {
		b.link(b.prev, neighbour.next)
	}
	b.size += neighbour.size
	size := neighbour.size
	a.recycle(neighbour)
	return size
}
