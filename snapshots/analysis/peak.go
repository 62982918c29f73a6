package analysis

import (
	"sync"

	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/trace"
)

// heldFacts lists the live memory right after one event, once for all questions.
// Later events do not change it.
type heldFacts struct {
	event      int
	heldN      int // held ones that were known
	judged     int // the judge's generation that categories are of
	began      int // the first event of its step, −1 if steps are not known
	holders    []Holder
	rules      []RuleBytes
	categories [trace.CategoryCount]int64
	scene      *savings.Scene
}

// AtPeak returns [Index.HoldersAt] and [Index.RulesAt] for the highest level. The
// index keeps them, because many answers use them.
func (x *Index) AtPeak() ([]Holder, []RuleBytes) {
	p := x.peakFacts()
	return p.holders, p.rules
}

func (x *Index) peakFacts() *heldFacts {
	event := x.Summary().PeakEvent
	return x.kept.peak.get(x, func(p *heldFacts) *heldFacts {
		if p != nil && p.event == event && p.heldN == len(x.life.Held) && p.judged == x.verdicts().Generation() && p.began == x.stepBegin(event) {
			return p
		}
		return newHeldFacts(x, event)
	})
}

func newHeldFacts(x *Index, event int) *heldFacts {
	var judging sync.WaitGroup
	judging.Go(func() { x.verdicts() })
	alive := x.alive(event)
	judging.Wait()
	rules := x.rulesOf(alive)
	return &heldFacts{
		event, len(x.life.Held), x.verdicts().Generation(), x.stepBegin(event), holdersOf(x.holdingsOf(alive)), rules, CategoriesOf(rules), x.sceneOf(alive, event),
	}
}
