package proposals

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Why names the basis of a prediction.
func (o *Proposal) Why() string {
	text := "rehearsed by the program: the peak"
	if a := -o.Predicted.Activation; a > 0 {
		text += " with " + quantity.Bytes(a) + " of activations less"
	}
	switch {
	case o.Predicted.StepTimeKnown:
		return text + "; the step time follows from measured times"
	case o.Predicted.StepTimeEstimated:
		return text + "; the step time is estimated from measured times of similar work"
	}
	return text + "; what it does to the step time is not known"
}

// TimeText says how much longer a step takes, also as a part of its time. It begins
// with ≈ if that is estimated, is a range if it may be far off, and is "" if it is not
// known.
func (o *Proposal) TimeText(step int64) string {
	if !o.Timed() {
		return ""
	}
	least, most := o.Predicted.StepTimes()
	switch {
	case least == most:
		return strings.TrimSpace(LongerText(&o.Predicted, longer) + " " + ShareText(most, step))
	case step > 0:
		return about(&o.Predicted) + cmp.Or(ShareText(least, step), "0") + " to " + cmp.Or(ShareText(most, step), "0")
	}
	return LongerText(&o.Predicted, longer)
}

// LongerText says how much longer a step takes, if that is known: as a number, or as a
// range if it may be far off. write writes a difference in nanoseconds.
func LongerText(p *trace.Prediction, write func(ns int64) string) string {
	least, most := p.StepTimes()
	if least == most {
		return about(p) + write(most)
	}
	return about(p) + write(least) + " to " + write(most)
}

// about begins a time that is estimated.
func about(p *trace.Prediction) string {
	if p.StepTimeEstimated {
		return "≈"
	}
	return ""
}

// longer writes a difference of times.
func longer(ns int64) string {
	text := time.Duration(ns).Round(10 * time.Microsecond).String()
	if ns > 0 {
		return "+" + text
	}
	return text
}

// ShareText writes a part of a whole in per cent, with its sign. It returns "" if
// the part is 0 or the whole is not known.
func ShareText(part, whole int64) string {
	if whole <= 0 || part == 0 {
		return ""
	}
	return fmt.Sprintf("%+.0f%%", 100*float64(part)/float64(whole))
}

// ErrorText gives the error of past predictions of the peak and, if the proposal
// predicts a time, of the step time.
func (o *Proposal) ErrorText() string {
	if o.Error == nil {
		return ""
	}
	text := fmt.Sprintf("±%.1f%%", 100*o.Error.Peak)
	if o.Error.Timed > 0 && o.Timed() {
		text += fmt.Sprintf(" ±%.0f%%", 100*o.Error.StepTime)
	}
	return text
}

// RoomText says how many samples fit, only as exactly as past predictions were.
func RoomText(h *trace.Headroom, e *Error) string {
	text := quantity.Plural(h.Most, "sample")
	if h.Parts > 1 {
		text += fmt.Sprintf(" in each of %d parts", h.Parts)
	}
	if h.Most == 1 {
		text += " fits into " + quantity.Bytes(h.Capacity)
	} else {
		text += " fit into " + quantity.Bytes(h.Capacity)
	}
	if e != nil && h.PerSample > 0 {
		apart := math.Ceil(e.Peak * float64(h.Capacity) / float64(h.PerSample))
		text += fmt.Sprintf(" (±%.0f, as past predictions were off by %.1f%%)", apart, 100*e.Peak)
	}
	return text + fmt.Sprintf("; a step takes %s and %s for each sample, %d run at a time now",
		quantity.Bytes(h.Fixed), quantity.Bytes(h.PerSample), h.Samples)
}

// Text describes the changes that bring the peak below the target.
func (p *Plan) Text() string {
	rehearsed := ""
	if p.Rehearsed {
		rehearsed = ", rehearsed on a memory of that size"
	}
	switch {
	case len(p.Change) == 0 && p.Fits:
		return "it fits as it is" + rehearsed
	case len(p.Change) == 0:
		return "it does not fit, and no setting would make it less"
	case p.Fits:
		return fmt.Sprintf("%s: peak allocated %s%s", p.Name(), quantity.Bytes(p.Peak), rehearsed)
	}
	return fmt.Sprintf("no settings make it fit; with %s the peak would still be %s", p.Name(), quantity.Bytes(p.Peak))
}
