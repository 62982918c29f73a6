package analysis

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Levels
//
// The level of requested memory is a running sum over events. Its start is known
// only after the last event: a free that closes no allocation means that more
// memory was held before the first event. So the index keeps sums relative to the
// start, and adds the start to answers. It keeps them for every 64th event only,
// and replays the events in between, which takes about a tenth of a microsecond.
// The highest and lowest level and the largest allocation of every 64 events go
// into pyramids.
const (
	bucketShift = 6
	bucketSize  = 1 << bucketShift
)

type levels struct {
	*record
	n         int     // events read
	requested []int64 // relative level before event k·64
	reserved  []int64
	high      pyramid // highest relative level right after an event of bucket k
	low       pyramid // minus the lowest
	biggest   pyramid // largest alloc in bucket k

	nowRequested, nowReserved   int64 // after the last event read
	peakRequested, peakReserved int64 // relative; at least 0, the start
	peakEvent                   int   // −1 when the start is the highest
	initial, initialReserved    int64
}

// settle computes the starts, once all held allocations are known.
func (l *levels) settle(life *trace.Lifetimes, final *trace.State) {
	l.initial = 0
	for k := range life.Held {
		l.initial += life.Held[k].Size
	}
	l.initialReserved = final.Reserved() - l.nowReserved
}

// bucket gathers one bucket's extremes.
type bucket struct{ high, low, biggest int64 }

// readEvents adds the events that came since the last call. It reads a bucket
// that was only partly read again from its start.
func (l *levels) readEvents() {
	if l.n == 0 {
		l.peakEvent = -1
	}
	first := l.n >> bucketShift
	if l.n&(bucketSize-1) != 0 {
		l.nowRequested, l.nowReserved = l.requested[first], l.reserved[first]
	}
	more := (l.events.Len()+bucketSize-1)>>bucketShift - len(l.requested)
	l.requested, l.reserved = slices.Grow(l.requested, more), slices.Grow(l.reserved, more)
	for i := first << bucketShift; i < l.events.Len(); {
		span := l.events.Span(i)
		for len(span) > 0 {
			part := span[:min(len(span), bucketSize-i&(bucketSize-1))]
			l.readBucket(i, part)
			i += len(part)
			span = span[len(part):]
		}
	}
	l.n = l.events.Len()
	l.high.build(first)
	l.low.build(first)
	l.biggest.build(first)
}

// readBucket sums the events of one bucket, which start at number i. A span of
// events is cut at multiples of 64, and chunks are multiples of 64, so a bucket
// comes whole unless the slice's start lies inside a chunk.
func (l *levels) readBucket(i int, events []trace.Event) {
	k := i >> bucketShift
	b := bucket{high: -1 << 62, low: 1 << 62}
	if i&(bucketSize-1) == 0 {
		l.startBucket(k)
	} else {
		b = bucket{l.high.levels[0][k], -l.low.levels[0][k], l.biggest.levels[0][k]}
	}
	life, now, reserved := l.life, l.nowRequested, l.nowReserved
	for j := range events {
		e := &events[j]
		if leaves, joins := life.Change(i+j, e.Kind); leaves != joins {
			if leaves != trace.NoAllocation {
				now -= l.sizeOf(leaves)
			}
			if joins != trace.NoAllocation {
				now += e.Size
				b.biggest = max(b.biggest, e.Size)
				if now > l.peakRequested {
					l.peakRequested, l.peakEvent = now, i+j
				}
			}
		} else if e.Kind.Segment() {
			reserved += e.ReservedDelta()
			l.peakReserved = max(l.peakReserved, reserved)
		}
		b.high, b.low = max(b.high, now), min(b.low, now)
	}
	if l.uncached {
		reserved, l.peakReserved = now, l.peakRequested
	}
	l.nowRequested, l.nowReserved = now, reserved
	l.high.set(k, b.high)
	l.low.set(k, -b.low)
	l.biggest.set(k, b.biggest)
}

func (l *levels) startBucket(k int) {
	if k == len(l.requested) {
		l.requested = append(l.requested, l.nowRequested)
		l.reserved = append(l.reserved, l.nowReserved)
	}
}

// RequestedAt returns the requested bytes right after an event; −1 is before
// the first.
func (l *levels) RequestedAt(event int) int64 {
	return l.initial + l.relativeAt(l.clamp(event))
}

func (l *levels) relativeAt(event int) int64 {
	if event == l.End() {
		return l.nowRequested
	}
	k := (event + 1) >> bucketShift
	level := l.requested[k]
	for i := k << bucketShift; i <= event; i++ {
		level += l.delta(i, l.events.At(i))
	}
	return level
}

// ReservedAt returns the bytes obtained from the driver right after an event;
// −1 is before the first.
func (l *levels) ReservedAt(event int) int64 {
	event = l.clamp(event)
	if event == l.End() {
		return l.initialReserved + l.nowReserved
	}
	k := (event + 1) >> bucketShift
	level := l.initialReserved + l.reserved[k]
	for i := k << bucketShift; i <= event; i++ {
		level += l.reservedDelta(i)
	}
	return level
}

// Highest returns the first event in [from, to) whose requested level right after
// it is the highest, and that level. The range must not be empty.
func (l *levels) Highest(from, to int) (int, int64) {
	at, level := l.extreme(&l.high, 1, from, to)
	return at, l.initial + level
}

// Lowest is like Highest for the lowest level.
func (l *levels) Lowest(from, to int) (int, int64) {
	at, level := l.extreme(&l.low, -1, from, to)
	return at, l.initial + level
}

// extreme finds the first event in [from, to) where sign·level is largest. Whole
// buckets are looked up, the ends replayed.
func (l *levels) extreme(p *pyramid, sign int64, from, to int) (int, int64) {
	at, best := -1, int64(0)
	consider := func(i int, level int64) {
		if at < 0 || sign*level > sign*best {
			at, best = i, level
		}
	}
	first, last := (from+bucketSize-1)>>bucketShift, to>>bucketShift
	if first >= last {
		l.scan(from, to, consider)
		return at, best
	}
	l.scan(from, first<<bucketShift, consider)
	if k, value := p.max(first, last); at < 0 || value > sign*best {
		at = -1
		l.scan(k<<bucketShift, (k+1)<<bucketShift, consider)
	}
	l.scan(last<<bucketShift, to, consider)
	return at, best
}

// scan calls visit with the relative level after each event in [from, to).
func (l *levels) scan(from, to int, visit func(i int, level int64)) {
	if from >= to {
		return
	}
	level := l.relativeAt(from - 1)
	for i := from; i < to; i++ {
		level += l.delta(i, l.events.At(i))
		visit(i, level)
	}
}
