package analysis

import (
	"cmp"
	"slices"

	"memtop/snapshots/trace"
)

// Quantity is something that a change of a setting may change.
type Quantity uint8

// The quantities, in the order in which they are shown. Bytes are those of a
// step's peak; step times are in nanoseconds.
const (
	PeakAllocatedQuantity Quantity = iota
	ReservedQuantity
	ActivationQuantity
	StepTimeQuantity
	TokenRateQuantity // tokens per second
	LossQuantity
	QuantityCount = int(iota)
)

// String returns the quantity's name in the keys of JSON.
func (q Quantity) String() string {
	return [...]string{
		"peak_allocated_bytes", "reserved_bytes", "activation_bytes", "step_time_ns", "tokens_per_second", "loss",
	}[q]
}

// Spread is the middle of some steps, and how far they are apart.
type Spread struct {
	Median, Low, High float64
	Steps             int // how many were looked at; 0 means that nothing is known
}

// Effect is what a change did to one quantity.
type Effect struct {
	Quantity      Quantity
	Before, After Spread
	Delta         float64 // of the medians
	Measured      bool    // Delta is: both sides have settled steps
	// Predicted is by how much it was expected to change, where Foretold.
	Predicted float64
	Foretold  bool
	// Error is the measured minus the predicted change, in parts of the level
	// before, where both are known.
	Error float64
}

// Experiment is a setting that was changed, or was wanted to, and what came of it.
type Experiment struct {
	trace.Change
	// Event is the one that tells of the change, −1 when there is none: not yet,
	// never, or its events are not kept.
	Event   int
	Effects [QuantityCount]Effect
	// Settled is how many settled steps there are since, of Needed.
	Settled, Needed int
	// Overlaps lists the other changes whose steps cannot be told from this one's,
	// as "key=value at step N". What was measured is then the effect of all.
	Overlaps []string
}

// Done reports whether nothing more will be measured.
func (e *Experiment) Done() bool {
	return e.State == trace.Refused || e.State == trace.Applied && e.Settled >= e.Needed
}

// settled is how many steps make a measurement, and settling how many right
// after a change are left out: in them the allocator takes what the new setting
// needs, and state is made.
const (
	settledSteps  = 5
	settlingSteps = 2
)

// Experiments returns what was made of every change of a setting, the oldest
// first. A running program and its recording answer the same.
func Experiments(t *trace.Trace, device int) []Experiment {
	var all []Experiment
	if t.Live != nil {
		for _, c := range t.Live.Changes {
			all = append(all, Experiment{Change: c, Event: -1, Needed: settledSteps})
		}
	}
	slices.SortStableFunc(all, func(a, b Experiment) int { return cmp.Compare(a.ID, b.ID) })
	for i := range all {
		all[i].measure(t, device)
	}
	return all
}

func (e *Experiment) measure(t *trace.Trace, device int) {
	for q := range e.Effects {
		e.Effects[q].Quantity = Quantity(q)
	}
	e.foretell()
	if e.State != trace.Applied {
		return
	}
	var before, after []*trace.Step
	for i := range t.Steps {
		s := &t.Steps[i]
		switch {
		case s.Device != device:
		case s.Number < e.Step && s.Number >= e.Step-settledSteps:
			before = append(before, s)
		case s.Number >= e.Step+settlingSteps && len(after) < settledSteps:
			after = append(after, s)
		}
	}
	e.Settled = len(after)
	for q := range e.Effects {
		f := &e.Effects[q]
		f.Before, f.After = spreadOf(before, f.Quantity), spreadOf(after, f.Quantity)
		f.compare()
	}
}

func (e *Experiment) foretell() {
	if p := e.Predicted; p != nil {
		e.Effects[PeakAllocatedQuantity].foretell(p.PeakAllocated)
		e.Effects[ActivationQuantity].foretell(p.Activation)
		if p.StepTimeKnown {
			e.Effects[StepTimeQuantity].foretell(p.StepTime)
		}
	}
}

func (f *Effect) foretell(delta int64) { f.Predicted, f.Foretold = float64(delta), true }

func (f *Effect) compare() {
	f.Measured = f.Before.Steps > 0 && f.After.Steps > 0
	if !f.Measured {
		return
	}
	f.Delta = f.After.Median - f.Before.Median
	if f.Foretold && f.Before.Median != 0 {
		f.Error = (f.Delta - f.Predicted) / f.Before.Median
	}
}

// spreadOf looks at a quantity over some steps.
func spreadOf(steps []*trace.Step, q Quantity) Spread {
	values := make([]float64, 0, len(steps))
	for _, s := range steps {
		if v, ok := quantityOf(s, q); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return Spread{}
	}
	slices.Sort(values)
	n := len(values)
	return Spread{Median: (values[(n-1)/2] + values[n/2]) / 2, Low: values[0], High: values[n-1], Steps: n}
}

func quantityOf(s *trace.Step, q Quantity) (float64, bool) {
	switch q {
	case PeakAllocatedQuantity:
		return float64(s.PeakAllocated), true
	case ReservedQuantity:
		return float64(s.PeakReserved), true
	case ActivationQuantity:
		return float64(amountOf(s.AtPeak, Activation.String())), len(s.AtPeak) > 0
	case StepTimeQuantity:
		return float64(s.Duration), s.Duration > 0
	case TokenRateQuantity:
		return float64(s.Tokens) / float64(s.Duration) * 1e9, s.Duration > 0
	default:
		return s.Loss, true
	}
}

func amountOf(amounts []trace.Amount, name string) int64 {
	for _, a := range amounts {
		if a.Name == name {
			return a.Bytes
		}
	}
	return 0
}
