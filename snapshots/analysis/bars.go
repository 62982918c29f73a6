package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/memtop/memtop/snapshots/trace"
)

// bars has reserved memory split by region, at every 64th segment event.
type bars struct {
	history *trace.SegmentHistory // its source
	events  []int32
	band    []uint8 // by segment event
	delta   []int64
	bands   []Band
	start   []int64 // by band, before the first event
	sums    []int64 // relative, before segment event k·64
	levels  pyramid // relative level after each segment event
}

func (x *Index) bars() *bars {
	return x.kept.bars.get(x, func(b *bars) *bars {
		if b != nil && b.history == x.segmentHistory() {
			return b
		}
		return x.newBars()
	})
}

func (x *Index) newBars() *bars {
	w := x.walkRegions()
	of, bands := w.choose(bandCount)
	b := &bars{history: x.segmentHistory(), events: x.segmentEvents, bands: bands, start: make([]int64, len(bands))}
	for id := range w.regions {
		b.start[of[id]] += w.regions[id].initial
	}
	// Bytes that no segment accounts for, as in files cut by hand, go to the
	// rest.
	b.start[len(bands)-1] += x.initialReserved - sum(b.start)
	now, level := make([]int64, len(bands)), int64(0)
	for k, i := range b.events {
		band := uint8(len(bands) - 1)
		if w.of[k] >= 0 {
			band = of[w.of[k]]
		}
		if k&(bucketSize-1) == 0 {
			b.sums = append(b.sums, now...)
		}
		delta := x.events.At(int(i)).ReservedDelta()
		now[band] += delta
		level += delta
		b.band, b.delta = append(b.band, band), append(b.delta, delta)
		b.levels.set(k, level)
	}
	b.sums = append(b.sums, now...)
	b.levels.build(0)
	return b
}

func sum(values []int64) int64 {
	var total int64
	for _, v := range values {
		total += v
	}
	return total
}

// choose gives bands, by address, to the regions with the most bytes times
// events, and the last band to the rest.
func (w *regionWalk) choose(n int) ([]uint8, []Band) {
	order := make([]int32, len(w.regions))
	for id := range order {
		order[id] = int32(id)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(w.regions[b].area, w.regions[a].area), cmp.Compare(w.regions[b].initial, w.regions[a].initial))
	})
	order = order[:min(n, len(order))]
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(w.regions[a].addr, w.regions[b].addr) })
	of := make([]uint8, len(w.regions))
	for id := range of {
		of[id] = uint8(len(order))
	}
	bands := make([]Band, 0, len(order)+1)
	for band, id := range order {
		of[id] = uint8(band)
		g := &w.regions[id]
		name := "segment"
		if g.expandable {
			name = "expandable"
		}
		bands = append(bands, Band{Name: fmt.Sprintf("%s 0x%x", name, g.addr), Segment: g.addr, Stack: g.stack, Held: g.initial > 0})
	}
	return of, append(bands, Band{Name: "rest", Category: trace.OtherCategory, Rest: true})
}

// before returns how many segment events are older than an event.
func (b *bars) before(event int) int {
	return sort.Search(len(b.events), func(k int) bool { return int(b.events[k]) >= event })
}

// at returns the bands after the first n segment events.
func (b *bars) at(n int) []int64 {
	bands := len(b.bands)
	k := min(n>>bucketShift, len(b.sums)/bands-1)
	now := slices.Clone(b.sums[k*bands : (k+1)*bands])
	if n == len(b.events) {
		now = slices.Clone(b.sums[len(b.sums)-bands:])
	} else {
		for j := k << bucketShift; j < n; j++ {
			now[b.band[j]] += b.delta[j]
		}
	}
	for band, bytes := range b.start {
		now[band] += bytes
	}
	return now
}

// SegmentTimeline is Timeline for reserved memory, with a band for each of the
// segments with the most bytes times events. An expandable segment is one band,
// which has the bytes that are mapped at each moment. Total and Reserved are the
// same.
func (x *Index) SegmentTimeline(from, to, columns int) Timeline {
	return x.fillBars(x.byEvents(from, to, columns))
}

// SegmentTimelineByTime is SegmentTimeline with columns equal in time.
func (x *Index) SegmentTimelineByTime(from, to, columns int) Timeline {
	return x.fillBars(x.byTime(from, to, columns))
}

func (x *Index) fillBars(columns []Column) Timeline {
	if x.uncached {
		return x.fillSums(columns)
	}
	b := x.bars()
	t := Timeline{Bands: b.bands, Columns: columns}
	for c := range columns {
		column := &columns[c]
		b.choose(column)
		column.Bands = b.at(b.before(column.At + 1))
		column.Total = sum(column.Bands)
		column.Reserved = column.Total
		t.Max = max(t.Max, column.Total)
	}
	t.MaxReserved = t.Max
	return t
}

// choose finds the event of the column with the highest reserved level. If the
// highest level is the one before the column, choose takes the column's first
// event, or the event before if the column is empty.
func (b *bars) choose(column *Column) {
	column.At = column.From
	if column.From >= column.To {
		column.At = column.From - 1
	}
	first, last := b.before(column.From), b.before(column.To)
	if first == last {
		return
	}
	k, level := b.levels.max(first, last)
	carried := int64(0)
	if first > 0 {
		carried = b.levels.levels[0][first-1]
	}
	if level > carried || int(b.events[first]) == column.From {
		column.At = int(b.events[k])
	}
}
