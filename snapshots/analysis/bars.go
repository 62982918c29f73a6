package analysis

// SegmentTimeline is Timeline for reserved memory, a band for each of the
// largest segments. Mapped and unmapped parts of an expandable segment count.
func (x *Index) SegmentTimeline(from, to, columns int) Timeline {
	return Timeline{}
}

// SegmentTimelineByTime is SegmentTimeline with columns equal in time.
func (x *Index) SegmentTimelineByTime(from, to, columns int) Timeline {
	return Timeline{}
}
