package report

import (
	"fmt"
	"strconv"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/iteration"
	"github.com/memtop/memtop/snapshots/quantity"
)

// Steps are the program's iterations. Inferred steps are a guess for a program
// that marked none.
type Steps struct {
	Inferred bool    `json:"inferred"`
	From     string  `json:"inferred_from"` // "" for marked ones
	Count    int     `json:"count"`
	Peaks    []int64 `json:"peaks"` // the most requested bytes within each
}

func stepsOf(x *analysis.Index) Steps {
	found := x.Steps()
	s := Steps{From: inferredFrom(x), Count: len(found), Peaks: make([]int64, len(found))}
	s.Inferred = s.From != ""
	for i, step := range found {
		_, s.Peaks[i] = x.Highest(step.From, step.To)
	}
	return s
}

// inferredFrom returns the source of inferred steps, "" for marked steps.
func inferredFrom(x *analysis.Index) string {
	if evidence := x.StepsInferred(); evidence != iteration.None {
		return evidence.String()
	}
	return ""
}

// text draws the peaks. If several steps share a row, it draws their highest
// peak.
func (s *Steps) text(p *page) {
	const rows = 12
	if s.Count == 0 {
		return
	}
	title := "Peak by step (" + quantity.Plural(s.Count, "step")
	if s.Inferred {
		title += ", inferred from " + s.From
	}
	p.line("")
	p.line("  %s)", title)
	most := int64(0)
	for _, peak := range s.Peaks {
		most = max(most, peak)
	}
	shown := min(s.Count, rows)
	for row := range shown {
		from, to := row*s.Count/shown, (row+1)*s.Count/shown
		peak, name := int64(0), strconv.Itoa(from+1)
		for _, bytes := range s.Peaks[from:to] {
			peak = max(peak, bytes)
		}
		if to-from > 1 {
			name = fmt.Sprintf("%d-%d", from+1, to)
		}
		p.line("  %-12s%12s  %s", name, quantity.Bytes(peak), bar(peak, most, 30))
	}
}
