package analysis

import "github.com/memtop/memtop/snapshots/trace"

// # The waterfall
//
// What the device's memory is used for, from what the program asked for down to
// what belongs to others. The rows always add up to what the driver says is used,
// or where the driver was not asked to what the allocator has reserved. What they
// cannot explain is a row of its own, which may be less than nothing: drivers do
// not count everything they use, and count some of it twice. Of a processor's memory
// the rows add up to what is allocated: the machine's is mostly other programs'.

// RowKind says what a row of the waterfall is about.
type RowKind uint8

// The kinds of rows, in their order. Purpose rows are categories.
const (
	PurposeRow     RowKind = iota
	RoundingRow            // lost inside blocks
	CachedRow              // reserved by the allocator and in no block
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

// Waterfall says what the memory is used for right after an event. The rows,
// always the same, sum to the used memory of the gauge, which is GaugeAt's of that
// event, or without one to what is reserved.
func (x *Index) Waterfall(at int, gauge *trace.Gauge) []Row {
	at = x.clamp(at)
	rows := make([]Row, 0, trace.CategoryCount+5)
	sums := x.CategoriesAt(at)
	for _, c := range trace.Categories {
		rows = append(rows, Row{PurposeRow, c.Purpose(), c, sums[c]})
	}
	reserved, rounding, free := x.reservedParts(at)
	rows = append(rows, Row{Kind: RoundingRow, Name: "rounding", Bytes: rounding}, Row{Kind: CachedRow, Name: "cached free", Bytes: free})
	used, outside, others := reserved, int64(0), int64(0)
	if gauge != nil && gauge.Used >= 0 && !x.uncached {
		used = gauge.Used
		others = max(0, gauge.Others)
		if gauge.Process >= 0 {
			outside = max(0, gauge.Process-reserved)
		} else {
			outside = max(0, used-others-reserved)
		}
	}
	rows = append(rows, Row{Kind: OutsideRow, Name: "outside the allocator", Bytes: outside}, Row{Kind: OthersRow, Name: "other processes", Bytes: others})
	unexplained := used
	for i := range rows {
		unexplained -= rows[i].Bytes
	}
	return append(rows, Row{Kind: UnexplainedRow, Name: "unexplained", Bytes: unexplained})
}

// OnHost returns what a program keeps in the host's memory instead of this
// device's, a row for each purpose that there is anything of: what its last step up
// to an event said of the moment when that was most. It is beside the waterfall,
// not in it.
func (x *Index) OnHost(at int) []Row {
	number, steps := x.StepAt(x.clamp(at)), x.Trace().Steps
	for i := len(steps) - 1; i >= 0; i-- {
		if s := &steps[i]; s.Device == x.Device().ID && s.Number <= number && s.Measured() {
			return hostRows(s.Host)
		}
	}
	return nil
}

func hostRows(amounts []trace.Amount) []Row {
	var rows []Row
	for _, a := range amounts {
		if c, ok := trace.NamedCategory(a.Name); ok && a.Bytes != 0 {
			rows = append(rows, Row{PurposeRow, c.Purpose(), c, a.Bytes})
		}
	}
	return rows
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
