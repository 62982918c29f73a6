package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/category"
	"github.com/memtop/memtop/snapshots/analysis/grouped"
	"github.com/memtop/memtop/snapshots/trace"
)

// Rule says why an allocation has its category.
type Rule struct {
	category.Rule
	Exact bool          // the writer noted the category; otherwise it is a guess
	Frame trace.FrameID // the frame that decided, 0 when none did
}

// RuleBytes is how much memory one rule gave to a category.
type RuleBytes struct {
	Category trace.Category    `json:"category"`
	Rule     category.Rule     `json:"rule"`
	Evidence category.Strength `json:"evidence"`
	Bytes    int64             `json:"bytes"`
	Count    int               `json:"count"`
}

// Guessed reports whether the category is known by sizes or places alone.
func (r RuleBytes) Guessed() bool {
	return r.Category != trace.OtherCategory && r.Evidence < category.Lived
}

// verdicts returns the judge of categories, up to date.
func (x *Index) verdicts() *category.Judge {
	return x.kept.categories.get(x, func(j *category.Judge) *category.Judge {
		if judging := x.kept.judging; judging != nil {
			x.kept.judging = nil
			return judging()
		}
		if j == nil {
			j = category.NewJudge()
		}
		j.Advance(x.tables, x.events, x.life)
		return j
	})
}

// Category returns the category of an allocation and the rule that gave it.
// Rule.Exact says whether the writer noted the category or memtop guessed it.
func (x *Index) Category(a trace.Allocation) (trace.Category, Rule) {
	j := x.verdicts()
	c, rule := j.Of(a.ID, a.Note)
	r := Rule{Rule: rule, Exact: rule.Strength() == category.Exact}
	if rule.Strength() >= category.Lived && !a.FreeStack && !r.Exact {
		r.Frame = j.Frame(a.Stack)
	}
	return c, r
}

// Guessed reports whether the category of any allocation may be a guess, because
// the writer noted none. Our own engine notes every allocation; PyTorch notes
// none; its agent notes what it sees.
func (x *Index) Guessed() bool { return !x.verdicts().AllNoted() }

// GuessedAt reports whether memtop guessed the category of some bytes that are
// alive right after an event. Beside notes, what stacks and lives prove is no guess.
func (x *Index) GuessedAt(event int) bool {
	guessed, _ := x.notNotedAt(event)
	return guessed
}

// notNotedAt returns of the bytes alive right after an event whether any have a guessed
// category, and how many have none: a writer that notes what memory is for noted
// nothing of them, and no rule knows them.
func (x *Index) notNotedAt(event int) (guessed bool, unseen int64) {
	if j := x.verdicts(); j.AllNoted() || !j.AnyNoted() {
		return !j.AllNoted(), 0
	}
	for _, r := range x.RulesAt(event) {
		guessed = guessed || r.Bytes > 0 && r.Guessed()
		if r.Category == trace.OtherCategory && r.Rule.Strength() != category.Exact {
			unseen += r.Bytes
		}
	}
	return guessed, unseen
}

// CategoriesAt returns the requested bytes of each category right after an event.
// Their sum is RequestedAt.
func (x *Index) CategoriesAt(event int) [trace.CategoryCount]int64 {
	var sums [trace.CategoryCount]int64
	for band, bytes := range x.categorySeries().at(x, x.clamp(event)) {
		sums[trace.Categories[min(band, trace.OtherCategory.Place())]] += bytes
	}
	return sums
}

// UnknownAt returns the bytes alive right after an event that were held from
// before recording began and that no rule gives a category.
func (x *Index) UnknownAt(event int) int64 { return x.categorySeries().at(x, x.clamp(event))[heldBand] }

// CategoriesOf adds the bytes of rules up by category.
func CategoriesOf(rules []RuleBytes) [trace.CategoryCount]int64 {
	var sums [trace.CategoryCount]int64
	for _, r := range rules {
		sums[r.Category] += r.Bytes
	}
	return sums
}

// RulesAt returns the rules that gave the allocations alive right after an event
// their categories. Categories come in their order, and within a category the
// rule with the most bytes comes first.
func (x *Index) RulesAt(at int) []RuleBytes { return x.rulesOf(x.alive(x.clamp(at))) }

func (x *Index) rulesOf(alive []trace.Allocation) []RuleBytes {
	type key struct {
		category trace.Category
		rule     category.Rule
	}
	found := grouped.By[key, RuleBytes]{List: make([]RuleBytes, 0)}
	j := x.verdicts()
	for i := range alive {
		a := &alive[i]
		c, rule := j.Of(a.ID, a.Note)
		r := found.Of(key{c, rule})
		*r = RuleBytes{c, rule, rule.Strength(), r.Bytes + a.Size, r.Count + 1}
	}
	slices.SortFunc(found.List, func(a, b RuleBytes) int {
		return cmp.Or(cmp.Compare(a.Category.Place(), b.Category.Place()), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Rule, b.Rule))
	})
	return found.List
}
