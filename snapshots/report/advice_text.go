package report

import (
	"fmt"
	"io"
	"math"
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
	if r.Path != "" {
		r.proven(p)
		return p.w.Flush()
	}
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
	r.headroom(p)
	r.plan(p)
	if err := p.w.Flush(); err != nil || r.Applied == nil {
		return err
	}
	return r.Applied.Text(w, width)
}

// headroom says how many samples fit.
func (r *Advice) headroom(p *page) {
	h := r.Headroom
	if h == nil {
		return
	}
	text := fmt.Sprintf("%s fit into %s", quantity.Plural(h.Most, "sample"), quantity.Bytes(h.Capacity))
	if h.Parts > 1 {
		text = fmt.Sprintf("%s in each of %d parts fit into %s", quantity.Plural(h.Most, "sample"), h.Parts, quantity.Bytes(h.Capacity))
	}
	if e := r.Error; e != nil && h.PerSample > 0 {
		apart := math.Ceil(e.Peak / 100 * float64(h.Capacity) / float64(h.PerSample))
		text += fmt.Sprintf(" (±%.0f, as past predictions were off by %.1f%%)", apart, e.Peak)
	}
	p.wrap("headroom: ", fmt.Sprintf("%s; a step takes %s and %s for each sample, %d run at a time now",
		text, quantity.Bytes(h.Fixed), quantity.Bytes(h.PerSample), h.Samples))
}

// plan says what brings the peak below the target.
func (r *Advice) plan(p *page) {
	if r.Plan == nil {
		return
	}
	l := r.Plan
	mark := "plan for " + quantity.Bytes(l.Target) + ": "
	reserve := ""
	if l.Rehearsed {
		reserve = ", rehearsed on a memory of that size"
	}
	switch {
	case l.name == "" && l.Fits:
		p.wrap(mark, "it fits as it is"+reserve)
	case l.name == "":
		p.wrap(mark, "it does not fit, and no setting would make it less")
	case l.Fits:
		p.wrap(mark, fmt.Sprintf("%s: peak allocated %s, step time %s%s", l.name, quantity.Bytes(l.PeakAllocated), r.timeText(&l.AdviceOption), reserve))
	default:
		p.wrap(mark, fmt.Sprintf("no settings make it fit; with %s the peak would still be %s", l.name, quantity.Bytes(l.PeakAllocated)))
	}
}

func (r *Advice) title() string {
	if r.Path != "" {
		return fmt.Sprintf("%s: the peak is %s", r.Path, quantity.Bytes(r.PeakAllocated))
	}
	text := fmt.Sprintf("process %d, step %d: peak allocated %s", r.PID, r.Step, quantity.Bytes(r.PeakAllocated))
	if r.StepTime > 0 {
		text += ", " + quantityText(analysis.StepTimeQuantity, float64(r.StepTime)) + " a step"
	}
	return text
}

// proven writes what a file's stacks prove.
func (r *Advice) proven(p *page) {
	if len(r.Options) == 0 {
		p.line("its stacks prove nothing that would make it less")
	}
	for i := range r.Options {
		o := &r.Options[i]
		p.wrap(fmt.Sprintf("  %11s %5s  ", moved(analysis.PeakAllocatedQuantity, float64(o.Predicted.PeakAllocated)), share(o.Predicted.PeakAllocated, r.PeakAllocated)),
			o.name+": "+o.Why)
	}
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
