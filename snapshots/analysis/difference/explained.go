package difference

import "github.com/memtop/memtop/snapshots/trace"

// Explained says how much of a difference has a known category or line. The
// difference is split by category and line. Growth of one part and shrinkage of
// another both count, so Bytes is at least as large as the net difference. A part
// is explained if its category is not OtherCategory, or if it is from a line of
// the program's own code.
type Explained struct {
	Bytes    int64 `json:"changed_bytes"`     // of all parts, grown or shrunk
	Category int64 `json:"by_category_bytes"` // of those in a named category
	Line     int64 `json:"by_line_bytes"`     // of those from a line of the program's own code
	Either   int64 `json:"explained_bytes"`   // of those explained
}

// Explained returns how much of the difference has a known category or line.
func (d *Difference) Explained() Explained {
	type cell struct {
		line     trace.FrameID
		category trace.Category
	}
	cells := make(map[cell]int64)
	for side, blocks := range d.blocks {
		for i := range blocks {
			b := &blocks[i]
			cells[cell{d.Merged.placeOf(b.stack, b.note).line, b.category}] += b.size * int64(2*side-1)
		}
	}
	var e Explained
	for at, delta := range cells {
		delta = magnitude(delta)
		named, own := at.category != trace.OtherCategory, d.Merged.code.Own(at.line)
		e.Bytes += delta
		if named {
			e.Category += delta
		}
		if own {
			e.Line += delta
		}
		if named || own {
			e.Either += delta
		}
	}
	return e
}
