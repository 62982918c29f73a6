package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Band is one stripe of a timeline.
type Band struct {
	Name       string
	Category   trace.Category     // unless Held or Rest
	Stack      trace.StackID      // of a single allocation
	Allocation trace.AllocationID // likewise
	Held       bool               // memory older than the recording, use unknown
	Rest       bool               // everything that has no band of its own
}

// Column is one step of a timeline.
type Column struct {
	From, To int     // events [From, To); empty when nothing happened in the column's time
	At       int     // the event in the column with the highest level, −1 before the first
	Total    int64   // the level right after At
	Reserved int64   // reserved memory right after At
	Bands    []int64 // of Total, in the order of Timeline.Bands; they sum to Total
}

// Timeline is memory over a range of events, split into bands by category, the
// lowest first.
type Timeline struct {
	Bands       []Band
	Columns     []Column
	Max         int64 // highest Total
	MaxReserved int64 // highest Reserved
}

// Timeline splits events [from, to) into columns of equal numbers of events.
// With fewer events than columns, neighbouring columns show the same event.
func (x *Index) Timeline(from, to, columns int) Timeline {
	return x.fill(x.byEvents(from, to, columns))
}

// TimelineByTime is like Timeline with columns of equal time. The level at the
// start of a column counts as part of the column. If events have no times, it
// falls back to columns of equal numbers of events.
func (x *Index) TimelineByTime(from, to, columns int) Timeline {
	return x.fill(x.byTime(from, to, columns))
}

// byEvents cuts [from, to) into columns of equally many events.
func (x *Index) byEvents(from, to, columns int) []Column {
	from, to = max(from, 0), min(to, x.events.Len())
	if columns <= 0 {
		return nil
	}
	cut := make([]Column, columns)
	if from >= to {
		for c := range cut {
			cut[c] = Column{From: from, To: from, At: x.clamp(from - 1)}
		}
		return cut
	}
	for c := range cut {
		start := from + int(int64(to-from)*int64(c)/int64(columns))
		end := from + int(int64(to-from)*int64(c+1)/int64(columns))
		cut[c] = Column{From: start, To: max(end, start+1)}
		cut[c].At, _ = x.Highest(cut[c].From, cut[c].To)
	}
	return cut
}

// byTime cuts [from, to) into columns of equal time.
func (x *Index) byTime(from, to, columns int) []Column {
	from, to = max(from, 0), min(to, x.events.Len())
	if !x.Timed() || from >= to || columns <= 0 || x.events.At(to-1).Time <= x.events.At(from).Time {
		return x.byEvents(from, to, columns)
	}
	cut := make([]Column, columns)
	start, length := x.events.At(from).Time, x.events.At(to-1).Time-x.events.At(from).Time
	next := from
	for c := range cut {
		first := next
		next = to
		if c+1 < columns {
			edge := start + int64(float64(length)*float64(c+1)/float64(columns))
			next = max(first, min(to, x.EventAtTime(edge)))
		}
		cut[c] = x.timeColumn(first, next)
	}
	return cut
}

// timeColumn finds the highest level of a column: the level at its start, or a
// level right after one of its events.
func (x *Index) timeColumn(from, to int) Column {
	column := Column{From: from, To: to, At: from - 1}
	if from < to {
		if at, level := x.Highest(from, to); level > x.RequestedAt(from-1) {
			column.At = at
		}
	}
	return column
}

// fill computes the columns' levels and bands.
func (x *Index) fill(columns []Column) Timeline {
	t, categories := Timeline{Columns: columns, Bands: categoryBands()}, x.categorySeries()
	for c := range columns {
		column := &columns[c]
		column.Bands, column.Reserved = categories.at(x, column.At), x.ReservedAt(column.At)
		for _, bytes := range column.Bands {
			column.Total += bytes
		}
		t.Max, t.MaxReserved = max(t.Max, column.Total), max(t.MaxReserved, column.Reserved)
	}
	return t
}

func categoryBands() []Band {
	all := make([]Band, bands)
	for i, c := range trace.Categories {
		all[i] = Band{Name: c.String(), Category: c}
	}
	all[heldBand] = Band{Name: HeldBefore, Category: trace.OtherCategory, Held: true}
	return all
}

// SplitByAllocation splits a timeline of an index into bands of at most most
// allocations and the rest: those that fill the most of the picture. It takes the
// largest ones, and of those the ones with the most bytes times events in view.
func (t *Timeline) SplitByAllocation(x *Index, most int) {
	var chosen []trace.Allocation
	if n := len(t.Columns); n > 0 {
		chosen = x.largestIn(max(t.Columns[0].From, 0), min(t.Columns[n-1].To, x.events.Len()), most)
	}
	t.Bands = x.allocationBands(chosen)
	for c := range t.Columns {
		column := &t.Columns[c]
		rest := column.Total
		column.Bands = make([]int64, len(t.Bands))
		for b, a := range chosen {
			if a.Open <= column.At && column.At < a.Close {
				column.Bands[b] = a.Size
				rest -= a.Size
			}
		}
		column.Bands[len(chosen)] = rest
	}
}

// allocationBands gives each of some allocations a band, and one to the rest.
func (x *Index) allocationBands(chosen []trace.Allocation) []Band {
	bands := make([]Band, 0, len(chosen)+1)
	var stacks []trace.StackID
	for _, a := range chosen {
		band := Band{Allocation: a.ID, Held: a.Open < 0}
		if !a.FreeStack && (a.Open >= 0 || a.Stack > trace.EmptyStack) {
			band.Stack = a.Stack
			stacks = append(stacks, a.Stack)
		}
		bands = append(bands, band)
	}
	names := NamesOf(x, stacks)
	for i := range bands {
		bands[i].Name = cmp.Or(names[bands[i].Stack], HeldBefore)
	}
	return append(bands, Band{Name: "rest", Category: trace.OtherCategory, Rest: true})
}

// largestIn returns the allocations worth a band in events [from, to).
func (x *Index) largestIn(from, to, most int) []trace.Allocation {
	const candidates = 128
	found := x.AliveAt(from - 1)
	found = found[:min(candidates, len(found))]
	for _, i := range x.largestMade(from, to, candidates) {
		found = append(found, x.life.Allocation(trace.AllocationID(i)))
	}
	area := func(a trace.Allocation) int64 {
		return a.Size * int64(min(a.Close, to)-max(a.Open, from))
	}
	slices.SortStableFunc(found, func(a, b trace.Allocation) int { return cmp.Compare(area(b), area(a)) })
	found = found[:min(len(found), most)]
	slices.SortStableFunc(found, func(a, b trace.Allocation) int { return cmp.Compare(a.Open, b.Open) })
	return found
}

// largestMade returns the n largest alloc events in [from, to), out of the n buckets
// with the largest ones.
func (x *Index) largestMade(from, to, n int) []int {
	if from >= to {
		return nil
	}
	first, last := from>>bucketShift, (to+bucketSize-1)>>bucketShift
	buckets, made := make([]int, last-first), []int(nil)
	for i := range buckets {
		buckets[i] = first + i
	}
	slices.SortStableFunc(buckets, func(a, b int) int {
		return cmp.Compare(x.biggest.levels[0][b], x.biggest.levels[0][a])
	})
	for _, k := range buckets[:min(n, len(buckets))] {
		for i := max(from, k<<bucketShift); i < min(to, (k+1)<<bucketShift); i++ {
			if x.events.At(i).Kind == trace.Alloc {
				made = append(made, i)
			}
		}
	}
	slices.SortStableFunc(made, func(a, b int) int { return cmp.Compare(x.events.At(b).Size, x.events.At(a).Size) })
	return made[:min(n, len(made))]
}
