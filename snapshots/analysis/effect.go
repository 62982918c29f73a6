package analysis

import (
	"math"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// # The estimate
//
// One estimate serves every screen and report. It is the difference of two
// medians, of the steps before and of the settled steps after, so that one slow
// step does not change it. The spread is how far from their median half of the
// steps are, on the side where that is more. The loss is no such quantity: it falls
// anyway.

// Quantity is something that a change of a setting may change.
type Quantity uint8

// The quantities, in the order in which they are shown. Bytes are those at a
// step's peak; step times are in nanoseconds.
const (
	PeakAllocatedQuantity Quantity = iota
	ReservedQuantity
	ActivationQuantity
	StepTimeQuantity
	TokenRateQuantity // tokens per second
	QuantityCount     = int(iota)
)

// String returns the quantity's name in the keys of JSON.
func (q Quantity) String() string {
	return [...]string{
		"peak_allocated_bytes", "reserved_bytes", "activation_bytes", "step_time_ns", "tokens_per_second",
	}[q]
}

// Level is the median of a quantity over some steps.
type Level struct {
	Median float64
	Steps  int // how many steps; 0 means that nothing is known
}

// Effect is the effect of a change on one quantity.
type Effect struct {
	Quantity      Quantity
	Before, After Level
	Delta         float64 // After's median minus Before's
	Spread        float64 // how far from a side's median half of its steps are
	Measured      bool    // Delta is: both sides have settled steps
	// Predicted is the expected change, if Foretold.
	Predicted float64
	Foretold  bool
	// Error is how far the predicted level after the change was off, see
	// [trace.Off]. It is set if Compared: both levels are known and belong to
	// this change alone.
	Error    float64
	Compared bool
}

func (f *Effect) foretell(delta int64) { f.Predicted, f.Foretold = float64(delta), true }

// measure compares the steps before and after a change.
func (f *Effect) measure(before, after []*trace.Step) {
	b, a := valuesOf(before, f.Quantity), valuesOf(after, f.Quantity)
	f.Before, f.After = Level{median(b), len(b)}, Level{median(a), len(a)}
	if f.Measured = len(a) > 0 && len(b) > 0; f.Measured {
		f.Delta = f.After.Median - f.Before.Median
		f.Spread = max(scatter(b, f.Before.Median), scatter(a, f.After.Median))
	}
}

// measureWithin compares reserved memory at the highest moment of a step with
// that at its end. The prediction of an action is about the end of the step,
// because the next step takes again what it needs. The step may be nil.
func (f *Effect) measureWithin(s *trace.Step) {
	if s == nil || !s.Measured() {
		return
	}
	f.Before, f.After = Level{float64(s.PeakReserved), 1}, Level{float64(s.Reserved), 1}
	f.Delta, f.Measured = f.After.Median-f.Before.Median, true
}

// compare says by how much the prediction was wrong.
func (f *Effect) compare() {
	if f.Measured && f.Foretold && f.After.Median != 0 {
		f.Error, f.Compared = trace.Off(f.Before.Median+f.Predicted, f.After.Median), true
	}
}

// valuesOf returns a quantity in some steps.
func valuesOf(steps []*trace.Step, q Quantity) []float64 {
	all := make([]float64, 0, len(steps))
	for _, s := range steps {
		if v, ok := quantityOf(s, q); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			all = append(all, v)
		}
	}
	return all
}

// scatter returns how far from their median half of the values are.
func scatter(values []float64, middle float64) float64 {
	apart := make([]float64, len(values))
	for i, v := range values {
		apart[i] = math.Abs(v - middle)
	}
	return median(apart)
}

// median returns the median of values, 0 if there are none. It sorts values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func quantityOf(s *trace.Step, q Quantity) (float64, bool) {
	switch q {
	case PeakAllocatedQuantity:
		return float64(s.PeakAllocated), s.Measured()
	case ReservedQuantity:
		return float64(s.PeakReserved), s.Measured()
	case ActivationQuantity:
		return float64(trace.ByCategory(s.AtPeak)[trace.Activation]), len(s.AtPeak) > 0
	case StepTimeQuantity:
		return float64(s.Duration), s.Duration > 0
	default:
		return float64(s.Tokens) / float64(s.Duration) * 1e9, s.Duration > 0 && s.Tokens > 0
	}
}
