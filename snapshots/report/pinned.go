package report

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Pinned is the pinned host memory in numbers, which no device counts. Its sizes
// are those of whole blocks: what the program asked for is not recorded.
type Pinned struct {
	Events         int    `json:"events"`
	Blocks         int    `json:"blocks"`
	HeldBytes      int64  `json:"held_bytes"` // pinned at the end, in use or not
	InUseBytes     int64  `json:"in_use_bytes"`
	FreeBytes      int64  `json:"free_bytes"`
	PeakHeldBytes  int64  `json:"peak_held_bytes"`
	PeakInUseBytes int64  `json:"peak_in_use_bytes"`
	PeakEvent      int    `json:"peak_event"` // of the pinned memory's own events
	LinesAtPeak    []Line `json:"lines_at_peak"`

	analysis *analysis.Pinned
}

func newPinned(t *trace.Trace) *Pinned {
	p := analysis.PinnedOf(t)
	if p == nil {
		return nil
	}
	s := p.Summary()
	return &Pinned{
		Events: s.Events, Blocks: s.Blocks, HeldBytes: s.Reserved, InUseBytes: s.Active, FreeBytes: s.Free,
		PeakHeldBytes: s.PeakReserved, PeakInUseBytes: s.PeakRequested, PeakEvent: s.PeakEvent,
		LinesAtPeak: linesOf(p.Index, p.HoldersAt(s.PeakEvent)), analysis: p,
	}
}

// text writes the memory and the lines that hold most of it at its peak.
func (r *Pinned) text(p *page) {
	const shown = 5
	s := r.analysis.Summary()
	p.line("")
	p.line("Pinned host memory: %s, %s", quantity.Plural(r.Events, "event"), quantity.Plural(r.Blocks, "block"))
	p.line("")
	p.line("  %-12s%12s%12s%12s", "", "at start", "peak", "at end")
	p.line("  %-12s%12s%12s%12s", "in use", quantity.Bytes(s.InitialRequested), quantity.Bytes(s.PeakRequested), quantity.Bytes(s.Active))
	p.line("  %-12s%12s%12s%12s", "held", quantity.Bytes(s.InitialReserved), quantity.Bytes(s.PeakReserved), quantity.Bytes(s.Reserved))
	rows := r.analysis.Lines
	if len(rows) == 0 {
		return
	}
	p.line("")
	p.line("  At its peak, by line (the %d largest of %d), in blocks as PyTorch rounds them", min(shown, len(rows)), len(rows))
	p.rows(rows[:min(shown, len(rows))], s.PeakRequested)
}
