package trace

// addSegment adds s without its blocks and reports whether there was room.
func (r *Rewinder) addSegment(s Segment) bool {
	if s.Addr+uint64(s.Size) < s.Addr || r.overlaps(s.Addr, s.Size) {
		return false
	}
	s.Blocks = nil
	r.mapped.put(s.Addr, int32(len(r.segments)))
	r.segments = append(r.segments, s)
	return true
}

// overlaps reports whether any segment has a byte of the range.
func (r *Rewinder) overlaps(addr uint64, size int64) bool {
	id, ok := r.mapped.floor(addr + uint64(size) - 1)
	return ok && r.segments[id].End() > addr
}

// segmentAt returns the segment that holds the address, or nil.
func (r *Rewinder) segmentAt(addr uint64) *Segment {
	id, ok := r.mapped.floor(addr)
	if !ok || r.segments[id].End() <= addr {
		return nil
	}
	return &r.segments[id]
}

// anyLive reports whether a live block begins in the range.
func (r *Rewinder) anyLive(addr uint64, size int64) bool {
	found := false
	r.live.from(addr, func(at uint64, _ int32) bool {
		found = at < addr+uint64(size)
		return false
	})
	return found
}

func (r *Rewinder) undoSegmentAlloc(e *Event) {
	id, ok := r.mapped.get(e.Addr)
	if !ok {
		r.problem(r.at, "segment_alloc at %#x, where there is no segment afterwards", e.Addr)
		return
	}
	if s := &r.segments[id]; s.Size != e.Size {
		r.problem(r.at, "segment_alloc of %d bytes at %#x, which has %d afterwards", e.Size, e.Addr, s.Size)
	}
	if r.anyLive(e.Addr, r.segments[id].Size) {
		r.problem(r.at, "segment_alloc at %#x, which already holds live blocks", e.Addr)
	}
	r.mapped.remove(e.Addr)
}

func (r *Rewinder) undoSegmentFree(e *Event) {
	if e.Size <= 0 || !r.addSegment(r.restored(e, false)) {
		r.problem(r.at, "%s of %d bytes at %#x, where there is a segment afterwards", e.Kind, e.Size, e.Addr)
	}
}

// restored returns the segment that an event gave back to the driver.
func (r *Rewinder) restored(e *Event, expandable bool) Segment {
	s := Segment{
		Addr: e.Addr, Size: e.Size, Stream: e.Stream, Stack: e.Stack, Device: int32(r.device.ID),
		Pool: r.trace.Tables.Notes[e.Note].Pool, Expandable: expandable,
		Given: GaveAddr | GaveSize | GaveStream | GaveExpandable | GaveDevice,
	}
	if !expandable {
		s.Type = r.names.of(e.Size)
	}
	return s
}

// undoMap cuts the range that was mapped out of its segment, which may leave a
// piece on either side.
func (r *Rewinder) undoMap(e *Event) {
	s := r.segmentAt(e.Addr)
	if e.Size <= 0 || s == nil || s.End()-e.Addr < uint64(e.Size) {
		r.problem(r.at, "segment_map of %d bytes at %#x, which are not all mapped afterwards", e.Size, e.Addr)
		return
	}
	if r.anyLive(e.Addr, e.Size) {
		r.problem(r.at, "segment_map at %#x, where there are already live blocks", e.Addr)
	}
	whole, end := *s, e.Addr+uint64(e.Size)
	r.mapped.remove(whole.Addr)
	if e.Addr > whole.Addr {
		r.addSegment(cut(whole, whole.Addr, e.Addr))
	}
	if end < whole.End() {
		r.addSegment(cut(whole, end, whole.End()))
	}
}

// cut returns the part of s between two addresses.
func cut(s Segment, from, to uint64) Segment {
	s.Addr, s.Size = from, int64(to-from)
	return s
}

// undoUnmap brings a range back and joins it with expandable neighbours of the
// same stream, since PyTorch reports a contiguous mapped range as one segment.
func (r *Rewinder) undoUnmap(e *Event) {
	s := r.restored(e, true)
	if e.Size <= 0 || s.End() < s.Addr || r.overlaps(s.Addr, s.Size) {
		r.problem(r.at, "segment_unmap of %d bytes at %#x, where there is a segment afterwards", e.Size, e.Addr)
		return
	}
	if before := r.segmentAt(s.Addr - 1); before != nil && joins(before, &s) {
		r.mapped.remove(before.Addr)
		size := s.Size
		s = *before
		s.Size += size
	}
	if after := r.segmentAt(s.End()); after != nil && joins(after, &s) {
		r.mapped.remove(after.Addr)
		addr, size := s.Addr, s.Size
		if s.Type == 0 {
			s = *after
			s.Addr, s.Size = addr, after.Size
		} else {
			s.Size = after.Size
		}
		s.Size += size
	}
	r.addSegment(s)
}

// joins reports whether two touching segments are one. A pool or type that is
// not known fits any.
func joins(a, b *Segment) bool {
	return a.Expandable && b.Expandable && a.Stream == b.Stream &&
		(a.Pool == b.Pool || a.Pool == 0 || b.Pool == 0) &&
		(a.Type == b.Type || a.Type == 0 || b.Type == 0)
}
