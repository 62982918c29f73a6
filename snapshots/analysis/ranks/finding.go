package ranks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
)

// Finding is a difference between one or several ranks and the others, or a fact
// that shows only in a comparison of ranks.
type Finding struct {
	analysis.Finding
	Ranks []int    // the ranks that it is about; look at the first one
	Lines []string // the lines to look at there, as "file:line function"
}

// # Thresholds
//
// The ranks of one program use memory in the same way, up to the rounding of
// blocks, so any larger difference has a reason. A difference is worth a line if
// it moves the limit of the whole job, which the rank with the most memory sets.
// The threshold is a twentieth of that rank's memory, as one sample in twenty
// would need. Below a mebibyte, any difference is noise.
const (
	leastShare = 20      // one part of so many
	leastBytes = 1 << 20 // and at least this
	// leastGrowth is what a step may add without meaning anything, as for one trace.
	leastGrowth = 1 << 12
	// leastBehind is how many nanoseconds a rank must lag so that it is really
	// behind, and was not only asked a moment before the others: the time in
	// which programs must answer.
	leastBehind = 3_000_000_000
)

// The kinds of findings; docs/answers.md says when each speaks.
var (
	FailedFinding   = &analysis.FindingKind{Name: "rank_out_of_memory"}
	LostFinding     = &analysis.FindingKind{Name: "lost_rank"}
	MissingFinding  = &analysis.FindingKind{Name: "missing_ranks"}
	TightFinding    = &analysis.FindingKind{Name: "least_headroom"}
	GrowingFinding  = &analysis.FindingKind{Name: "growing_rank"}
	UnevenFinding   = &analysis.FindingKind{Name: "uneven_memory", Change: "what the rank that holds most has more"}
	SettingsFinding = &analysis.FindingKind{Name: "different_settings"}
	SlowFinding     = &analysis.FindingKind{Name: "slow_rank"}
)

// Findings returns the differences between the ranks of one job, the most severe
// first. Ranks that are alike have none.
func Findings(rows []Row) []Finding {
	c := compare(rows)
	for _, find := range []func(){c.failed, c.lost, c.tight, c.growing, c.uneven, c.settings, c.slow, c.missing} {
		find()
	}
	slices.SortStableFunc(c.found, func(a, b Finding) int { return int(b.Severity) - int(a.Severity) })
	return c.found
}

// comparison gathers findings. Each of its methods looks for one kind.
type comparison struct {
	all   []Row
	rows  []*Row // those that are known as they are now
	found []Finding
}

func compare(rows []Row) *comparison {
	c := &comparison{all: rows}
	for i := range rows {
		if rows[i].Problem == "" {
			c.rows = append(c.rows, &rows[i])
		}
	}
	return c
}

// add takes a finding about ranks, which is certain unless it says otherwise.
func (c *comparison) add(f analysis.Finding, about ...*Row) {
	f.Confidence, f.Where.Event = cmp.Or(f.Confidence, analysis.Certain), analysis.NoEvent
	numbers := make([]int, 0, len(about))
	for _, r := range about {
		if r.Rank.Rank != Unranked {
			numbers = append(numbers, r.Rank.Rank)
		}
	}
	c.found = append(c.found, Finding{Finding: f, Ranks: numbers})
}

// median returns the median of a number over ranks. Of two middle values it
// returns the lower one, so that of two ranks the larger is compared with the
// smaller.
func median(rows []*Row, of func(*Row) int64) int64 {
	if len(rows) == 0 {
		return 0
	}
	all := make([]int64, len(rows))
	for i, r := range rows {
		all[i] = of(r)
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// where returns the rows for which holds is true.
func where(rows []*Row, holds func(*Row) bool) []*Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool { return !holds(r) })
}

// most returns the rows by a number, the highest first.
func most(rows []*Row, of func(*Row) int64) []*Row {
	return slices.SortedStableFunc(slices.Values(rows), func(a, b *Row) int { return cmp.Compare(of(b), of(a)) })
}

// listed names ranks in a sentence, runs of numbers as their ends: "ranks 0-2 and 5".
func listed(rows []*Row) string {
	if len(rows) == 1 {
		return rows[0].title()
	}
	var numbers []int
	var parts []string
	for _, r := range rows {
		if r.Rank.Rank == Unranked {
			parts = append(parts, r.title())
			continue
		}
		numbers = append(numbers, r.Rank.Rank)
	}
	if spans := spans(numbers); spans != "" {
		parts = slices.Insert(parts, 0, "ranks "+spans)
	}
	return joined(parts)
}

// mostSpans is how many runs of ranks a sentence names.
const mostSpans = 8

// spans writes numbers with runs of them as their ends: "0-2 and 5".
func spans(numbers []int) string {
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	var spans []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if len(spans) == mostSpans {
			return joined(append(spans, quantity.Plural(len(numbers)-i, "other")))
		}
		span := strconv.Itoa(numbers[i])
		if j > i {
			span += "-" + strconv.Itoa(numbers[j])
		}
		spans, i = append(spans, span), j+1
	}
	return joined(spans)
}

// joined writes parts as people do.
func joined(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}
