package analysis

import (
	"memtop/snapshots/analysis/advice"
	"memtop/snapshots/trace"
)

// peakFacts is what was alive at the highest level. A later event changes
// nothing about it, unless the peak is elsewhere then.
type peakFacts struct {
	event      int
	heldN      int // held ones that were known
	judged     int // the judge's generation that categories are of
	holders    []Holder
	rules      []RuleBytes
	categories [trace.CategoryCount]int64
	scene      *advice.Scene
}

// AtPeak is [Index.HoldersAt] and [Index.RulesAt] for the highest level, which are
// kept: much asks for them.
func (x *Index) AtPeak() ([]Holder, []RuleBytes) {
	p := x.peakFacts()
	return p.holders, p.rules
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
	alive := x.alive(event)
	rules := x.rulesOf(alive)
	return &peakFacts{
		event, len(x.life.Held), x.verdicts().Generation(), holdersOf(x.holdingsOf(alive)), rules, CategoriesOf(rules), x.sceneOf(alive, event),
	}
}
