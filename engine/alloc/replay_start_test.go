package alloc

import (
	"testing"

	"memtop/snapshots/trace"
)

// newReplayer puts an allocator into the state before the first event of a
// device, which is worked out backwards from the last.
func newReplayer(t testing.TB, tr *trace.Trace, d *trace.Device) *replayer {
	t.Helper()
	r := &replayer{
		t: t, tables: tr.Tables, blocks: make(map[uint64]Allocation),
		ready: make(map[Event]bool), waits: make(map[uint64]Event),
	}
	mapping := false
	for i := range d.Events.Len() {
		e := d.Events.At(i)
		mapping = mapping || e.Kind == trace.SegmentMap || e.Kind == trace.SegmentUnmap
		if e.Kind <= trace.OOM && e.Kind != trace.Other {
			r.want = append(r.want, *e)
		}
	}
	base, _ := trace.Rewind(tr, d)
	lookAhead(&base, r.want)
	for i := range base.Segments {
		mapping = mapping || base.Segments[i].Expandable
	}
	r.a = newAllocator(t, r, Options{Device: d.ID, Recorder: r})
	configure(t, r.a, recordedConfig(tr, mapping))
	r.adopt(&base)
	return r
}

// recordedConfig returns the settings of the recording.
func recordedConfig(tr *trace.Trace, mapping bool) string {
	text := ""
	for _, s := range tr.Settings {
		if v, ok := s.Value.(string); ok && s.Key == "PYTORCH_CUDA_ALLOC_CONF" {
			text = v
		}
	}
	if mapping && text == "" {
		return "expandable_segments:True"
	}
	return text
}

// lookAhead corrects the sizes of large blocks that are followed by a wide gap
// of free memory and are freed inside the trace, so that only their requested
// bytes are known. The free block in the gap is consumed from its front: if
// the first alloc in the gap, made while the block lives, begins at most 1 MiB
// after the block's rounded end, the block reaches up to it.
func lookAhead(base *trace.State, events []trace.Event) {
	for i := range base.Segments {
		s := &base.Segments[i]
		for k := range s.Blocks[:max(len(s.Blocks)-1, 0)] {
			b, gap := &s.Blocks[k], &s.Blocks[k+1]
			if s.Expandable || s.Size == smallSize || !b.State.Live() || gap.State.Live() {
				continue
			}
			stray := firstInGap(b, gap, events)
			b.Size += stray
			gap.Addr += uint64(stray)
			gap.Size -= stray
		}
	}
}

func firstInGap(b, gap *trace.Block, events []trace.Event) int64 {
	for i := range events {
		switch e := &events[i]; {
		case e.Kind == trace.FreeCompleted && e.Addr == b.Addr:
			return 0
		case e.Kind == trace.Alloc && e.Addr >= gap.Addr && e.Addr < gap.Addr+uint64(gap.Size):
			if stray := int64(e.Addr - gap.Addr); stray <= smallLimit {
				return stray
			}
			return 0
		}
	}
	return 0
}

// adopt makes the allocator's state that of a trace.
func (r *replayer) adopt(base *trace.State) {
	spaces := make(map[*pool]map[*stream]*segment)
	for i := range base.Segments {
		s := &base.Segments[i]
		st := r.a.streamOf(Stream(r.tables.Streams[s.Stream]))
		p := &r.a.pools.large
		if r.tables.Strings[s.Type] == "small" || s.Type == 0 && s.Size == smallSize {
			p = &r.a.pools.small
		}
		if !s.Expandable {
			r.adoptBlocks(s, &segment{addr: s.Addr, size: s.Size}, nil, p, st)
			continue
		}
		if spaces[p] == nil {
			spaces[p] = make(map[*stream]*segment)
		}
		spaces[p][st] = r.adoptRange(s, spaces[p][st], p, st)
	}
	for p, streams := range spaces {
		for st, space := range streams {
			r.unmappedUpTo(space, space.addr+uint64(space.size), p, st)
		}
	}
}

// adoptRange adds a mapped range to an expandable segment, which begins with
// the first.
func (r *replayer) adoptRange(s *trace.Segment, space *segment, p *pool, st *stream) *segment {
	if space == nil {
		space = &segment{addr: s.Addr, size: 90 << 30, page: smallSize, expandable: true}
		if p.kind == largePool {
			space.page = largeSize
		}
	}
	r.unmappedUpTo(space, s.Addr, p, st)
	r.adoptBlocks(s, space, lastBlock(space), p, st)
	return space
}

func lastBlock(s *segment) *block {
	b := s.first
	for b != nil && b.next != nil {
		b = b.next
	}
	return b
}

func (r *replayer) unmappedUpTo(space *segment, end uint64, p *pool, st *stream) {
	at, last := space.addr, lastBlock(space)
	if last != nil {
		at = last.end()
	}
	if at == end {
		return
	}
	b := r.a.newBlock(space, p, st, at, int64(end-at))
	b.mapped = false
	b.link(last, nil)
	p.addUnmapped(b)
}

func (r *replayer) adoptBlocks(s *trace.Segment, to *segment, last *block, p *pool, st *stream) {
	a := r.a
	if to.first == nil {
		a.addSegment(to)
	}
	if !to.expandable {
		a.stats.Segment.add(p.kind, 1)
	}
	a.stats.ReservedBytes.add(p.kind, s.Size)
	for i := range s.Blocks {
		tb := &s.Blocks[i]
		b := a.newBlock(to, p, st, tb.Addr, tb.Size)
		b.link(last, nil)
		last = b
		b.requested = tb.Requested
		r.adoptState(b, tb.State)
	}
	for b := last; b != nil; b = b.prev {
		if !b.inUse && b.mapped && b.addr >= s.Addr {
			p.add(b)
			if b.split() && !to.expandable {
				a.stats.InactiveSplit.add(p.kind, 1)
				a.stats.InactiveSplitBytes.add(p.kind, b.size)
			}
		}
	}
}

func (r *replayer) adoptState(b *block, state trace.BlockState) {
	a, k := r.a, b.pool.kind
	if !state.Live() {
		return
	}
	b.inUse = true
	a.stats.Active.add(k, 1)
	a.stats.ActiveBytes.add(k, b.size)
	a.stats.RequestedBytes.add(k, b.requested)
	if state == trace.PendingFree {
		token := a.streamOf(tokenStream)
		b.uses = append(b.uses, token)
		a.recordEvents(b)
		r.waits[b.addr] = r.last
		return
	}
	a.serial++
	b.allocated, b.inUse, b.serial = true, true, a.serial
	r.blocks[b.addr] = Allocation{b, b.serial}
	a.stats.Allocation.add(k, 1)
	a.stats.AllocatedBytes.add(k, b.size)
	a.stats.Category[trace.OtherCategory].add(b.requested)
}
