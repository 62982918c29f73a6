package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Changes is the result of changing settings together. `memtop set` prints it.
// The fields are those of its JSON form.
type Changes struct {
	AppliedAtStep int64                `json:"applied_at_step"` // 0 when nothing was applied
	Change        map[string][2]string `json:"change"`          // from and to, by setting
	Refused       map[string]string    `json:"refused,omitempty"`
	// Predicted is the predicted change of a step's memory, null if unknown.
	Predicted *Predicted `json:"predicted"`
	// Measured is the measured change of each quantity, by its name.
	Measured map[string]Measured `json:"measured"`
	steps    int                 // settled steps that the measurement rests on
	once     map[string]bool     // settings whose change was an action
	overlaps []string
}

// Predicted is the sum of the predictions for each change.
type Predicted struct {
	PeakAllocated int64  `json:"peak_allocated_bytes"`
	Activation    *int64 `json:"activation_bytes"` // null of a file, whose activations are not predicted
	// Reserved is how much an action gives back to the driver right after the step.
	Reserved *int64 `json:"reserved_bytes,omitempty"`
}

// Measured is an [analysis.Effect]: the level before and after, their difference,
// and the error of that.
type Measured struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Delta  float64 `json:"delta"`
	Spread float64 `json:"spread"`
}

// NewChanges reports on changes that were made together. A measurement after the
// last of them is the effect of all.
func NewChanges(made []analysis.Experiment) *Changes {
	r := &Changes{Change: make(map[string][2]string), Measured: make(map[string]Measured), once: make(map[string]bool)}
	alone := true
	for i := range made {
		e := &made[i]
		if e.State == trace.Refused {
			if r.Refused == nil {
				r.Refused = make(map[string]string)
			}
			r.Refused[e.Key] = e.Reason
			continue
		}
		r.Change[e.Key], r.once[e.Key] = [2]string{e.From, e.To}, e.Once
		r.predict(e.Predicted)
		if e.Step >= r.AppliedAtStep {
			r.AppliedAtStep = e.Step
			r.measure(e, alone)
		}
		alone = false
	}
	return r
}

// predict adds a prediction. The memory that an action gives back is known only
// if nothing else changes, and does not affect later steps.
func (r *Changes) predict(p *trace.Prediction) {
	if p == nil {
		return
	}
	switch one := predictedOf(p); {
	case r.Predicted == nil, r.Predicted.Reserved != nil:
		r.Predicted = one
	case one.Reserved == nil:
		r.Predicted.add(one)
	}
}

// predictedOf is one prediction.
func predictedOf(p *trace.Prediction) *Predicted {
	return &Predicted{PeakAllocated: p.PeakAllocated, Activation: &p.Activation, Reserved: p.Reserved}
}

// add adds the prediction for another change.
func (c *Predicted) add(o *Predicted) {
	c.PeakAllocated += o.PeakAllocated
	activation := *c.Activation + *o.Activation
	c.Activation = &activation
}

func (r *Changes) measure(e *analysis.Experiment, alone bool) {
	clear(r.Measured)
	r.steps, r.overlaps = e.Settled, nil
	if alone {
		r.overlaps = e.Overlaps // with other changes
	}
	for i := range e.Effects {
		if f := &e.Effects[i]; f.Measured {
			r.Measured[f.Quantity.String()] = Measured{f.Before.Median, f.After.Median, f.Delta, f.Spread}
		}
	}
}

// Text writes the report for people.
func (r *Changes) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	for _, key := range slices.Sorted(maps.Keys(r.Change)) {
		if r.once[key] {
			p.line("%s: %s, done at step %d", key, r.Change[key][1], r.AppliedAtStep)
			continue
		}
		p.line("%s: %s → %s, from step %d on", key, r.Change[key][0], r.Change[key][1], r.AppliedAtStep)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Refused)) {
		p.line("%s: refused, %s", key, r.Refused[key])
	}
	if r.Predicted != nil {
		p.line("predicted: %s", strings.Join(r.Predicted.words(), ", "))
	}
	if len(r.Measured) == 0 {
		return p.w.Flush()
	}
	if r.steps > 0 {
		p.line("measured, medians of %d settled steps:", r.steps)
	} else {
		p.line("measured:")
	}
	for q := range analysis.QuantityCount {
		quantity := analysis.Quantity(q)
		if m, ok := r.Measured[quantity.String()]; ok {
			delta := moved(quantity, m.Delta)
			if m.Spread > 0 {
				delta += " ± " + quantityText(quantity, m.Spread)
			}
			p.line("  %-19s %s → %s  (%s)", quantityNames[q], quantityText(quantity, m.Before), quantityText(quantity, m.After), delta)
		}
	}
	if len(r.overlaps) > 0 {
		p.wrap("  ", "together with "+strings.Join(r.overlaps, ", "))
	}
	return p.w.Flush()
}

func (c *Predicted) words() []string {
	if c.Reserved != nil {
		return []string{"reserved " + moved(analysis.ReservedQuantity, float64(*c.Reserved)) + ", when the step has ended"}
	}
	return []string{
		"peak allocated " + moved(analysis.PeakAllocatedQuantity, float64(c.PeakAllocated)),
		"activations " + moved(analysis.ActivationQuantity, float64(*c.Activation)),
	}
}

// quantityNames are the quantities' names for people.
var quantityNames = [analysis.QuantityCount]string{
	"peak allocated", "reserved", "activations at peak", "step time", "tokens per second",
}

// quantityText writes a value of a quantity for people.
func quantityText(q analysis.Quantity, v float64) string {
	switch q {
	case analysis.PeakAllocatedQuantity, analysis.ReservedQuantity, analysis.ActivationQuantity:
		return quantity.Bytes(int64(v))
	case analysis.StepTimeQuantity:
		return time.Duration(v).Round(10 * time.Microsecond).String()
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// moved puts a plus before what grew.
func moved(q analysis.Quantity, v float64) string {
	if v > 0 {
		return "+" + quantityText(q, v)
	}
	return quantityText(q, v)
}
