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
	// PeakStep is the step that the device's peak is in, counted from 1, 0 for none.
	PeakStep int `json:"peak_step"`

	peak int64 // the device's
}

// stepsOf returns nil where no steps are known.
func stepsOf(x *analysis.Index) *Steps {
	found := x.Steps()
	if len(found) == 0 {
		return nil
	}
	s := &Steps{Count: len(found), Peaks: make([]int64, len(found))}
	if evidence := x.StepsInferred(); evidence != iteration.None {
		s.From, s.Inferred = evidence.String(), true
	}
	event := x.Summary().PeakEvent
	s.peak = x.RequestedAt(event)
	for i, step := range found {
		if _, s.Peaks[i] = x.Highest(step.From, step.To); step.From <= event && event < step.To {
			s.PeakStep = i + 1
		}
	}
	return s
}

// text draws the peaks. If several steps share a row, it draws their highest
// peak.
func (s *Steps) text(p *page) {
	const rows = 12
	if s == nil {
		return
	}
	title := "Peak by step (" + quantity.Plural(s.Count, "step")
	if s.Inferred {
		title += ", inferred from " + s.From
	}
	p.line("")
	p.line("  %s)", title)
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
		p.line("  %-12s%12s  %s", name, quantity.Bytes(peak), bar(peak, s.peak, 30))
	}
	if s.PeakStep == 0 {
		p.line("  %-12s%12s  %s", "in no step", quantity.Bytes(s.peak), bar(s.peak, s.peak, 30))
	}
}
