package analysis

import (
	"cmp"

	"github.com/memtop/memtop/snapshots/analysis/card"
	"github.com/memtop/memtop/snapshots/trace"
)

// # The waterfall
//
// The waterfall shows the use of the device's memory, from the memory that the
// program requested down to that of other programs. The rows always add up to the
// memory that the driver says is used or, without a driver's answer, to the
// memory that the allocator has reserved. The part that they cannot explain has a
// row of its own, which may be negative: drivers do not count all memory that
// they use, and count some of it twice. For a processor's memory, the rows add up
// to the allocated memory, because most of the machine's memory belongs to other
// programs.

// RowKind says what a row of the waterfall is about.
type RowKind uint8

// The kinds of rows, in their order. Purpose rows are categories.
const (
	PurposeRow     RowKind = iota
	UnseenRow              // of the program, which notes what its memory is for, but not of this
	RoundingRow            // lost inside blocks
	CachedRow              // reserved by the allocator and in no block
	AsleepRow              // of all above, what the driver has back: less than nothing
	OutsideRow             // the program's, outside of the allocator: the context, libraries
	OthersRow              // other programs'
	UnexplainedRow         // the rest
)

// Row is one part of the memory of a device.
type Row struct {
	Kind     RowKind        `json:"-"`
	Name     string         `json:"name"`
	Category trace.Category `json:"-"` // of a PurposeRow
	Bytes    int64          `json:"bytes"`
}

// Waterfall returns the use of the memory right after an event. The kinds of rows
// are always the same, but for memory that a program has not seen, and for a program
// whose memory can sleep. Their sum
// is the used memory of the gauge, which is that of GaugeAt for the event, or without
// a gauge the reserved memory.
func (x *Index) Waterfall(at int, gauge *trace.Gauge) []Row {
	at = x.clamp(at)
	rows := make([]Row, 0, trace.CategoryCount+5)
	sums := x.CategoriesAt(at)
	_, unseen := x.notNotedAt(at)
	sums[trace.OtherCategory] -= unseen
	for _, c := range trace.Categories {
		rows = append(rows, Row{PurposeRow, c.Purpose(), c, sums[c]})
	}
	if unseen > 0 {
		rows = append(rows, Row{Kind: UnseenRow, Name: "not seen", Bytes: unseen})
	}
	reserved, rounding, free := x.reservedParts(at)
	rows = append(rows, Row{Kind: RoundingRow, Name: "rounding", Bytes: rounding}, Row{Kind: CachedRow, Name: "cached free", Bytes: free})
	used, outside, others := reserved, int64(0), int64(0)
	if gauge != nil && gauge.Used >= 0 && !x.uncached {
		l := card.Of(gauge, card.Reserved{Default: reserved})
		used = gauge.Used
		outside, others = l.Beside()
		if l.Asleep > 0 {
			rows = append(rows, Row{Kind: AsleepRow, Name: "asleep, given back", Bytes: -l.Asleep})
		}
	}
	rows = append(rows, Row{Kind: OutsideRow, Name: "outside the allocator", Bytes: outside}, Row{Kind: OthersRow, Name: "other processes", Bytes: others})
	unexplained := used
	for i := range rows {
		unexplained -= rows[i].Bytes
	}
	return append(rows, Row{Kind: UnexplainedRow, Name: "unexplained", Bytes: unexplained})
}

// OnHost returns the data that a program keeps in host memory instead of this
// device's memory, with a row for each category that has bytes. The numbers are
// from the program's last step up to an event, at the step's moment with the most
// such data. They are not part of the waterfall.
func (x *Index) OnHost(at int) (rows []Row) {
	for _, a := range x.measuredUpTo(at).Host {
		if c, ok := trace.NamedCategory(a.Name); ok && a.Bytes != 0 {
			rows = append(rows, Row{PurposeRow, c.Purpose(), c, a.Bytes})
		}
	}
	return rows
}

// Crossed returns how many bytes that step copied to the host and from it, 0 if that is
// not known.
func (x *Index) Crossed(at int) (toHost, fromHost int64) {
	s := x.measuredUpTo(at)
	return s.ToHost, s.FromHost
}

// measuredUpTo returns the device's last measured step up to an event, one of nothing
// if there is none.
func (x *Index) measuredUpTo(at int) *trace.Step {
	number := x.StepAt(x.clamp(at))
	found := x.trace.LastStepThat(x.device.ID, func(s *trace.Step) bool { return s.Number <= number && s.Measured() })
	return cmp.Or(found, new(trace.Step))
}

// reservedParts returns the bytes that are reserved, and of them those lost in
// blocks and those in none. At the end the writer's own sums say so.
func (x *Index) reservedParts(at int) (reserved, rounding, free int64) {
	if at == x.End() {
		s := x.Summary()
		return s.Reserved, s.Active - s.Requested, s.Free
	}
	m := x.SegmentsAt(at)
	return m.Reserved, m.Rounding, m.Free
}
