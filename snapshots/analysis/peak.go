package analysis

import "memtop/snapshots/trace"

// peakFacts is what was alive at the highest level. A later event changes
// nothing about it, unless the peak is elsewhere then.
type peakFacts struct {
	event      int
	heldN      int // held ones that were known
	judged     int // the judge's generation that categories are of
	holders    []Holder
	categories [trace.CategoryCount]int64
}

func (x *Index) peakFacts() *peakFacts {
	event, judged := x.Summary().PeakEvent, x.verdicts().Generation()
	return x.kept.peak.get(x, func(p *peakFacts) *peakFacts {
		if p != nil && p.event == event && p.heldN == len(x.life.Held) && p.judged == judged {
			return p
		}
		return newPeakFacts(x, event)
	})
}

func newPeakFacts(x *Index, event int) *peakFacts {
	return &peakFacts{event, len(x.life.Held), x.verdicts().Generation(), x.HoldersAt(event), x.CountCategories(event)}
}
