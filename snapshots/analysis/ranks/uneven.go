package ranks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// uneven says which rank holds more than the others at its peak, and of what.
func (c *comparison) uneven() {
	measured := c.measured()
	usual := MedianPeak(c.all)
	larger := most(where(measured, func(r *Row) bool { return r.PeakAllocated-usual >= max(usual/leastShare, leastBytes) }), func(r *Row) int64 { return r.PeakAllocated })
	if len(larger) == 0 {
		return
	}
	r := larger[0]
	more := r.PeakAllocated - usual
	evidence := fmt.Sprintf("%s holds %s more at its peak than the median, %s", r.title(), quantity.Bytes(more), quantity.Bytes(usual))
	parts := excess(trace.Categories[:], r, measured, more, func(r *Row, c trace.Category) int64 { return r.AtPeak[c] })
	remedy := ""
	if len(parts) > 0 {
		evidence += ": " + partsText(parts)
		remedy = r.reason(parts[0], c.world())
	}
	lines := excessLines(r, measured, more)
	if len(lines) > 0 {
		evidence += "; by line " + partsText(lines)
	}
	c.add(analysis.Finding{
		Kind: UnevenFinding, Severity: analysis.Warning, Bytes: more, Saving: more, Confidence: analysis.Probable,
		Evidence: sentence(evidence + also(larger[1:], "hold more too")), Remedy: remedy,
	}, larger...)
	found := &c.found[len(c.found)-1]
	for _, line := range lines {
		found.Lines = append(found.Lines, line.of)
	}
}

// part is by how much a category or a line of a rank is more than its median over
// the ranks.
type part[Of any] struct {
	of          Of
	more, usual int64
}

// mostParts is how many categories or lines a finding names.
const mostParts = 3

// excess returns the categories or lines that are a tenth of what a rank holds more,
// the largest first.
func excess[Of any](all []Of, r *Row, rows []*Row, whole int64, held func(*Row, Of) int64) []part[Of] {
	var parts []part[Of]
	for _, of := range all {
		usual := median(rows, func(r *Row) int64 { return held(r, of) })
		if more := held(r, of) - usual; more >= max(whole/10, 1) {
			parts = append(parts, part[Of]{of, more, usual})
		}
	}
	slices.SortStableFunc(parts, func(a, b part[Of]) int { return cmp.Compare(b.more, a.more) })
	return parts[:min(len(parts), mostParts)]
}

// excessLines is excess for lines. If a rank has more memory of no known line than the
// one with the excess, all of that may be of the line in question.
func excessLines(r *Row, rows []*Row, whole int64) []part[string] {
	if slices.ContainsFunc(rows, func(r *Row) bool { return r.Lines == nil }) {
		return nil
	}
	return excess(slices.Sorted(maps.Keys(r.Lines)), r, rows, whole, func(of *Row, line string) int64 {
		return of.Lines[line] + max(0, of.Unlined-r.Unlined)
	})
}

func partsText[Of any](parts []part[Of]) string {
	var texts []string
	for _, p := range parts {
		texts = append(texts, fmt.Sprintf("%v +%s", p.of, quantity.Bytes(p.more)))
	}
	return joined(texts)
}

// reason says what makes a rank hold more of a category, as a clause.
func (r *Row) reason(p part[trace.Category], world int) string {
	edge := r.Rank.Rank == 0 || r.Rank.Rank == world-1
	switch {
	case whole(p, int64(world)):
		return "it has all of what the others divide, a copy such as a checkpoint makes: save it in parts, or on the host"
	case p.of.PerSample():
		return "it has more samples or longer sequences: give every rank as many tokens, or its stage of a pipeline fewer layers or micro-batches"
	case p.of == trace.Parameter && edge:
		return "it has weights that the others have not, as the embedding or the output layer on the first or last stage of a pipeline: give that stage fewer layers"
	case p.of == trace.Parameter:
		return "it has weights or buffers that the others have not: divide them evenly"
	case p.of == trace.Optimizer:
		return "its part of the optimizer's state is larger: divide it by bytes and not by tensors"
	case p.of == trace.Gradient:
		return "it keeps gradients or buckets of them that the others have not: give them back after the step"
	case r.Rank.Rank == 0:
		return "look at what only rank 0 does: evaluation, logging, saving, and tensors that other ranks load to its device"
	}
	if r.Lines != nil {
		return "" // they are named
	}
	return "memtop attach or open it and look there: 6 says which lines hold it"
}

// whole reports whether a rank has about as much of a category as all ranks together
// have where each has a part: its own part and a copy of all, or the copy alone.
func whole(p part[trace.Category], world int64) bool {
	all := world * p.usual
	near := func(bytes, of int64) bool { return 10*max(bytes-of, of-bytes) <= of }
	return p.of.Divided() && world > 2 && all > 0 && (near(p.more, all) || near(p.more, all-p.usual))
}

// measured returns the ranks whose peak is known.
func (c *comparison) measured() []*Row {
	return where(c.rows, func(r *Row) bool { return r.PeakAllocated > 0 })
}
