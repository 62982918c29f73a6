package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"memtop/snapshots/analysis"
	"memtop/snapshots/quantity"
)

// Text writes the advice for people.
func (r *Advice) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	p.line("%s", r.title())
	useful := slices.DeleteFunc(slices.Clone(r.Options), func(o AdviceOption) bool { return o.Predicted.PeakAllocated >= 0 })
	if len(useful) == 0 {
		p.line("nothing that can be changed would make its memory less")
	} else {
		r.table(p, useful)
	}
	if others := r.useless(); others != "" {
		p.wrap("saves nothing: ", others)
	}
	if len(r.Unknown) > 0 {
		p.wrap("cannot be predicted: ", strings.Join(r.Unknown, ", "))
	}
	return p.w.Flush()
}

func (r *Advice) title() string {
	text := fmt.Sprintf("process %d, step %d: peak allocated %s", r.PID, r.Step, quantity.Bytes(r.PeakAllocated))
	if r.StepTime > 0 {
		text += ", " + quantityText(analysis.StepTimeQuantity, float64(r.StepTime)) + " a step"
	}
	return text
}

// table writes the options that save memory.
func (r *Advice) table(p *page, useful []AdviceOption) {
	const form = "  %-30s %11s %7s %16s %s"
	p.line(form, "change", "peak", "", "step time", "")
	for i := range useful {
		o := &useful[i]
		p.line(form, o.name, moved(analysis.PeakAllocatedQuantity, float64(o.Predicted.PeakAllocated)),
			share(o.Predicted.PeakAllocated, r.PeakAllocated), r.timeText(o), errorText(o.Error))
	}
}

// timeText says by how much a step takes longer, after ≈ where that is estimated.
func (r *Advice) timeText(o *AdviceOption) string {
	if o.Predicted.StepTime == nil {
		return "not known"
	}
	text := moved(analysis.StepTimeQuantity, float64(*o.Predicted.StepTime))
	if o.Predicted.StepTimeEstimated {
		text = "≈" + text
	}
	if s := share(*o.Predicted.StepTime, r.StepTime); s != "" {
		text += " " + s
	}
	return text
}

// share is a part of a whole in per cent, with its sign; "" where the whole is not known.
func share(part, whole int64) string {
	if whole <= 0 {
		return ""
	}
	return fmt.Sprintf("%+.0f%%", 100*float64(part)/float64(whole))
}

// errorText says how far past predictions were off.
func errorText(e *AdviceError) string {
	if e == nil {
		return ""
	}
	text := fmt.Sprintf("±%.1f%%", e.Peak)
	if e.StepTime != nil {
		text += fmt.Sprintf(" ±%.0f%%", *e.StepTime)
	}
	return text + " of " + strconv.Itoa(e.Predictions)
}

func (r *Advice) useless() string {
	var names []string
	for i := range r.Options {
		if r.Options[i].Predicted.PeakAllocated >= 0 {
			names = append(names, r.Options[i].name)
		}
	}
	return strings.Join(names, ", ")
}
