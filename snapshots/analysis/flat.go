package analysis

import (
	"errors"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Flat is an [Index] as arrays of numbers: what reading all events found, without what
// is worked out when it is asked for. See "Flat forms" in package trace.
type Flat struct {
	Kinds                              [trace.KindCount]int64
	OtherNotes                         []trace.NoteID
	OtherCounts                        []int64
	Seen                               []uint8 // by stack: 1 where there is one
	SegmentEvents, OOMs, ProgramEvents []int32

	// What follows is by bucket of 64 events.
	Requested, Reserved, High, Low, Biggest []int64
	Level                                   [7]int64
}

// Flat returns the index as arrays, which must not be changed.
func (x *Index) Flat() Flat {
	f := Flat{
		SegmentEvents: x.segmentEvents, OOMs: x.oomEvents, ProgramEvents: x.programEvents,
		Requested: x.requested, Reserved: x.reserved,
		High: x.high.bottom(), Low: x.low.bottom(), Biggest: x.biggest.bottom(),
		Level: [...]int64{x.nowRequested, x.nowReserved, x.peakRequested, x.peakReserved, int64(x.peakEvent), x.initial, x.initialReserved},
	}
	for kind, n := range x.kinds {
		f.Kinds[kind] = int64(n)
	}
	for note, n := range x.others {
		f.OtherNotes, f.OtherCounts = append(f.OtherNotes, note), append(f.OtherCounts, int64(n))
	}
	f.Seen = make([]uint8, len(x.stacks.seen))
	for id, seen := range x.stacks.seen {
		if seen {
			f.Seen[id] = 1
		}
	}
	return f
}

func (p *pyramid) bottom() []int64 {
	if len(p.levels) == 0 {
		return nil
	}
	return p.levels[0]
}

var errFlat = errors.New("the index does not fit its events")

// IndexOf returns the index that f and life are of. It must not be advanced. What the
// numbers refer to is checked, the levels are taken as they are.
func IndexOf(t *trace.Trace, device *trace.Device, life *trace.Lifetimes, f Flat) (*Index, error) {
	r := &record{
		life: life, others: make(map[trace.NoteID]int), version: 1,
		trace: t, device: device, tables: t.Tables, events: device.Events,
		uncached:      trace.NewRounding(t.Settings).Uncached,
		segmentEvents: f.SegmentEvents, oomEvents: f.OOMs, programEvents: f.ProgramEvents,
	}
	x := &Index{record: r, levels: levels{record: r}, mapper: mapper{record: r}}
	if err := r.takeCounts(f); err != nil {
		return nil, err
	}
	return x, x.takeLevels(f)
}

func (r *record) takeCounts(f Flat) error {
	for kind, n := range f.Kinds {
		r.kinds[kind] = int(n)
	}
	if len(f.OtherNotes) != len(f.OtherCounts) || len(f.Seen) > 2*r.tables.StackCount()+1 {
		return errFlat
	}
	for k, note := range f.OtherNotes {
		if int(note) >= len(r.tables.Notes) {
			return errFlat
		}
		r.others[note] = int(f.OtherCounts[k])
	}
	r.stacks.seen = make([]bool, len(f.Seen))
	for id, seen := range f.Seen {
		if seen != 0 && id >= r.tables.StackCount() {
			return errFlat
		}
		if seen != 0 {
			r.stacks.add(trace.StackID(id))
		}
	}
	for _, list := range []struct {
		events []int32
		is     func(trace.Kind) bool
	}{
		{f.SegmentEvents, trace.Kind.Segment},
		{f.OOMs, func(k trace.Kind) bool { return k == trace.OOM }},
		{f.ProgramEvents, func(k trace.Kind) bool { return k >= trace.StepBegin }},
	} {
		last := int32(-1)
		for _, i := range list.events {
			if i <= last || int(i) >= r.events.Len() || !list.is(r.events.At(int(i)).Kind) {
				return errFlat
			}
			last = i
		}
	}
	return nil
}

func (l *levels) takeLevels(f Flat) error {
	l.n = l.events.Len()
	buckets := (l.n + bucketSize - 1) >> bucketShift
	for _, list := range [][]int64{f.Requested, f.Reserved, f.High, f.Low, f.Biggest} {
		if len(list) != buckets {
			return errFlat
		}
	}
	l.requested, l.reserved = f.Requested, f.Reserved
	for _, p := range []struct {
		to   *pyramid
		from []int64
	}{{&l.high, f.High}, {&l.low, f.Low}, {&l.biggest, f.Biggest}} {
		if buckets > 0 {
			p.to.levels = [][]int64{slices.Clip(p.from)}
			p.to.build(0)
		}
	}
	v := f.Level
	l.nowRequested, l.nowReserved, l.peakRequested, l.peakReserved = v[0], v[1], v[2], v[3]
	l.peakEvent, l.initial, l.initialReserved = int(v[4]), v[5], v[6]
	if l.peakEvent < -1 || l.peakEvent >= l.n {
		return errFlat
	}
	return nil
}
