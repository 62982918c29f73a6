package analysis

import "memtop/snapshots/trace"

// peakFacts is what was alive at the highest level. A later event changes
// nothing about it, unless the peak is elsewhere then.
type peakFacts struct {
	event      int
	heldN      int // held ones that were known
	holders    []Holder
	categories [trace.CategoryCount]int64
}

func (x *Index) peakFacts() *peakFacts {
	event := x.Summary().PeakEvent
	return x.kept.peak.get(x, func(p *peakFacts) *peakFacts {
		if p != nil && p.event == event && p.heldN == len(x.life.Held) {
			return p
		}
		return &peakFacts{event, len(x.life.Held), x.HoldersAt(event), x.CountCategories(event)}
	})
}
