package trace

// # Without a caching allocator
//
// Some devices have no caching allocator: the setting "allocator" is "none". Such
// a device rounds no sizes and caches no memory. Each allocation is a segment of
// its own, exactly as large as the request: its alloc adds the segment and its
// free removes it. There are no segment events.

// playWhole adds a segment that is one block.
func (r *rules) playWhole(m *memory, e *Event) string {
	if reason := r.fresh(m, e); reason != "" {
		return reason
	}
	r.linked++
	m.addSegment(r.newSegment(m, e), m.add(r.allocated(e, e.Size), none, none))
	return ""
}
