package analysis

import (
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// Pinned is the host memory of PyTorch's pinned allocator. It is no device's, so
// nothing else counts it. Its bytes are those of whole blocks, by default powers
// of two: what the program asked for is not recorded.
type Pinned struct {
	*Index
	Lines []lines.Row // the program's lines that hold memory at the peak, the largest first
}

// PinnedOf returns the pinned memory of a trace, nil if none is recorded.
func PinnedOf(t *trace.Trace) *Pinned {
	if t.Pinned == nil || len(t.Pinned.Final.Segments) == 0 && t.Pinned.Events.Len() == 0 {
		return nil
	}
	p := &Pinned{Index: NewIndex(t, t.Pinned)}
	for _, row := range LinesAt(p.Index, p.Summary().PeakEvent, lines.Line, false).Rows {
		if row.SelfCount > 0 {
			p.Lines = append(p.Lines, row)
		}
	}
	return p
}

// pinnedBy returns the line that holds most of the pinned memory, "" if none is known.
// Each ledger of the host asks for it, and it takes reading the whole pinned history.
func (x *Index) pinnedBy() string {
	return x.kept.pinnedBy.get(x, func(string) string {
		if p := PinnedOf(x.trace); p != nil {
			for _, row := range p.Lines {
				if row.Frame != 0 {
					return row.Name
				}
			}
		}
		return ""
	})
}
