package ranks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
)

// failed says which rank ran out of memory, or which did first.
func (c *comparison) failed() {
	out := where(c.rows, func(r *Row) bool { return r.OutOfMemory > 0 })
	slices.SortStableFunc(out, func(a, b *Row) int { return cmp.Compare(a.FailedAt, b.FailedAt) })
	ordered := len(out) > 1 && out[0].FailedAt > 0 && out[0].FailedAt < out[1].FailedAt
	if len(out) == 0 || len(out) == len(c.rows) && !ordered {
		return
	}
	evidence := out[0].title() + " ran out of memory"
	switch {
	case ordered:
		evidence += fmt.Sprintf(" first, %v before %s", short(1000*(out[1].FailedAt-out[0].FailedAt)), out[1].title())
	case len(out) > 1:
		evidence = listed(out) + " ran out of memory"
	}
	if others := len(c.rows) - len(out); others > 0 {
		evidence += fmt.Sprintf(", and %d of %d did not", others, len(c.rows))
	}
	c.add(analysis.Finding{
		Kind: FailedFinding, Severity: analysis.Problem, Bytes: out[0].PeakAllocated, Evidence: sentence(evidence),
	}, out...)
}

// lost names ranks that cannot be asked.
func (c *comparison) lost() {
	var lost []*Row
	for i := range c.all {
		if c.all[i].Problem != "" && c.all[i].Problem != NotRead {
			lost = append(lost, &c.all[i])
		}
	}
	if len(lost) == 0 {
		return
	}
	what := "asked"
	if lost[0].PID == 0 {
		what = "read"
	}
	evidence := fmt.Sprintf("%s cannot be %s: %s", listed(lost), what, lost[0].Problem)
	c.add(analysis.Finding{
		Kind: LostFinding, Severity: analysis.Problem, Bytes: lost[0].Allocated, Evidence: sentence(evidence),
	}, lost...)
}

// missing names ranks of which nothing is known.
func (c *comparison) missing() {
	if len(c.all) == 0 {
		return
	}
	known := make(map[int]bool, len(c.all))
	for i := range c.all {
		known[c.all[i].Rank.Rank] = true
	}
	world := c.world()
	if world <= len(c.all) {
		return
	}
	var numbers []int
	for n := 0; n < world && len(numbers) < world-len(c.all); n++ {
		if !known[n] {
			numbers = append(numbers, n)
		}
	}
	c.found = append(c.found, Finding{Finding: analysis.Finding{
		Kind: MissingFinding, Confidence: analysis.Certain, Where: analysis.Where{Event: analysis.NoEvent},
		Evidence: fmt.Sprintf("%d of %d ranks are not here: %s", len(numbers), world, spans(numbers)),
		Remedy:   "they run on another machine, have no probe or have ended",
	}, Ranks: numbers})
}

// world returns how many ranks the job has: at least as many as there are rows.
func (c *comparison) world() int {
	world := len(c.all)
	for i := range c.all {
		world = max(world, c.all[i].World)
	}
	return world
}

// tight names the rank that is about to run out of memory.
func (c *comparison) tight() {
	known := where(c.rows, func(r *Row) bool { _, known := r.Headroom(); return known })
	if len(known) < 2 {
		return
	}
	free := func(r *Row) int64 { left, _ := r.Headroom(); return left }
	usual := median(known, free)
	tight := where(known, func(r *Row) bool { return free(r) < r.Capacity/leastShare && 2*free(r) < usual })
	if len(tight) == 0 {
		return
	}
	slices.SortStableFunc(tight, func(a, b *Row) int { return cmp.Compare(free(a), free(b)) })
	r := tight[0]
	left := max(free(r), 0)
	evidence := fmt.Sprintf("%s leaves %s of %s free at its peak, the median %s", r.title(), quantity.Bytes(left), quantity.Bytes(r.Capacity), quantity.Bytes(usual))
	if r.Growth >= leastGrowth {
		evidence += fmt.Sprintf("; at %s a step that lasts for %s", quantity.Bytes(r.Growth), quantity.Plural(int(left/r.Growth), "step"))
	}
	c.add(analysis.Finding{
		Kind: TightFinding, Severity: analysis.Warning, Bytes: left, Evidence: sentence(evidence + also(tight[1:], "leave little too")),
	}, tight...)
}

// growing names ranks that leak while others do not.
func (c *comparison) growing() {
	growth := func(r *Row) int64 { return r.Growth }
	usual := median(c.rows, growth)
	grown := most(where(c.rows, func(r *Row) bool { return r.Growth >= leastGrowth && r.Growth > 2*usual }), growth)
	if len(grown) == 0 || len(c.rows) < 2 {
		return
	}
	r := grown[0]
	evidence := fmt.Sprintf("%s grows by %s with each step, the median by %s", r.title(), quantity.Bytes(r.Growth), quantity.Bytes(max(usual, 0)))
	c.add(analysis.Finding{
		Kind: GrowingFinding, Severity: analysis.Warning, Bytes: r.Growth, Confidence: analysis.Probable,
		Evidence: sentence(evidence + also(grown[1:], "grow too")),
		Remedy:   "look at what only this rank does, such as logging or evaluation",
	}, grown...)
}

// slow names ranks that take longer than others, or are behind.
func (c *comparison) slow() {
	timed := where(c.rows, func(r *Row) bool { return r.StepDuration > 0 })
	if len(timed) < 2 {
		return
	}
	step := median(timed, func(r *Row) int64 { return r.Step })
	same := where(timed, func(r *Row) bool { return r.Step >= step-1 && r.Step <= step+1 })
	usual := median(same, func(r *Row) int64 { return r.StepDuration })
	slower := most(where(same, func(r *Row) bool { return r.StepDuration > usual+usual/5 }), func(r *Row) int64 { return r.StepDuration })
	if len(slower) > 0 {
		r := slower[0]
		c.add(analysis.Finding{
			Kind: SlowFinding, Severity: analysis.Info, Bytes: r.PeakAllocated,
			Evidence: sentence(fmt.Sprintf("%s took %v for its last step, the median %v", r.title(), short(r.StepDuration), short(usual)) + also(slower[1:], "are slow too")),
		}, slower...)
	}
	behind := where(timed, func(r *Row) bool { return r.Step < step-1 && (step-r.Step)*usual >= leastBehind })
	if len(behind) > 0 {
		slices.SortStableFunc(behind, func(a, b *Row) int { return cmp.Compare(a.Step, b.Step) })
		r := behind[0]
		c.add(analysis.Finding{
			Kind: SlowFinding, Severity: analysis.Info, Bytes: r.PeakAllocated, Confidence: analysis.Possible,
			Evidence: sentence(fmt.Sprintf("%s is at step %d, the median at %d", r.title(), r.Step, step) + also(behind[1:], "are behind too")),
			Remedy:   "the others wait for it, or its agent came later and counts from there",
		}, behind...)
	}
}

// settings names the settings that have not the same value in all ranks.
func (c *comparison) settings() {
	rows := where(c.rows, func(r *Row) bool { return r.Settings != nil })
	keys := make(map[string]bool)
	for _, r := range rows {
		for key := range r.Settings {
			keys[key] = true
		}
	}
	var parts []string
	var odd []*Row
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		text, others := differing(rows, key)
		if text != "" {
			parts, odd = append(parts, text), append(odd, others...)
		}
	}
	if len(parts) == 0 {
		return
	}
	odd = slices.CompactFunc(slices.SortedStableFunc(slices.Values(odd), func(a, b *Row) int { return a.Rank.Rank - b.Rank.Rank }),
		func(a, b *Row) bool { return a == b })
	most := odd[0].PeakAllocated - MedianPeak(c.all)
	c.add(analysis.Finding{
		Kind: SettingsFinding, Severity: analysis.Warning, Bytes: max(most, -most), Evidence: "Setting " + strings.Join(parts, "; "),
		Remedy: "start all ranks with the same settings, or change them in all",
	}, odd...)
}

// differing says which ranks have which value of a setting, "" when all have the
// same, and which have not what most have.
func differing(rows []*Row, key string) (text string, odd []*Row) {
	having := make(map[string][]*Row)
	for _, r := range rows {
		having[r.Settings[key]] = append(having[r.Settings[key]], r)
	}
	if len(having) < 2 {
		return "", nil
	}
	values := slices.SortedFunc(maps.Keys(having), func(a, b string) int {
		return cmp.Or(len(having[b])-len(having[a]), having[a][0].Rank.Rank-having[b][0].Rank.Rank)
	})
	var parts []string
	for i, value := range values {
		if i > 0 {
			odd = append(odd, having[value]...)
		}
		parts = append(parts, fmt.Sprintf("%s in %s", cmp.Or(value, "not set"), listed(having[value])))
	}
	return key + " is " + joined(parts), odd
}

// also names more ranks of which the same holds.
func also(more []*Row, does string) string {
	if len(more) == 0 {
		return ""
	}
	if len(more) == 1 {
		does = strings.NewReplacer("leave ", "leaves ", "grow ", "grows ", "are ", "is ", "hold ", "holds ").Replace(does)
	}
	return "; " + listed(more) + " " + does
}

// short rounds a time in nanoseconds to three figures.
func short(nanoseconds int64) time.Duration {
	unit := int64(1)
	for nanoseconds/unit >= 1000 {
		unit *= 10
	}
	return time.Duration(nanoseconds).Round(time.Duration(unit))
}

// sentence makes the first letter a capital one.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
