package analysis

// Buckets cuts the end of the trace into at most n columns of a fixed span of
// time, in microseconds. The last column is unfinished. The edges are multiples
// of the span, so a finished column does not change when more events come: the
// picture of a growing trace moves only when a column is full. The timeline is
// empty if events have no times.
func (x *Index) Buckets(span int64, n int) Timeline {
	if !x.Timed() || span <= 0 || n <= 0 {
		return Timeline{}
	}
	first, last := x.events.At(0).Time/span, x.events.At(x.End()).Time/span
	first = max(first, last-int64(n)+1)
	columns := make([]Column, 0, last-first+1)
	from := x.EventAtTime(first * span)
	for k := first; k <= last; k++ {
		to := x.events.Len()
		if k < last {
			to = max(from, min(to, x.EventAtTime((k+1)*span)))
		}
		columns = append(columns, x.timeColumn(from, to))
		from = to
	}
	return x.fill(columns)
}

// TimelineEvery cuts the events, from event from on, into at most n columns of
// equally many events. The last column is unfinished. As in Buckets, finished
// columns do not change when more events come.
func (x *Index) TimelineEvery(from, events, n int) Timeline {
	from, events = max(from, 0), max(events, 1)
	to := min(from+events*max(n, 0), x.events.Len())
	if from >= to {
		return Timeline{}
	}
	columns := make([]Column, 0, (to-from+events-1)/events)
	for ; from < to; from += events {
		column := Column{From: from, To: min(from+events, to)}
		column.At, _ = x.Highest(column.From, column.To)
		columns = append(columns, column)
	}
	return x.fill(columns)
}
