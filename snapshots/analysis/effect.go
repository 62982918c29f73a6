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
// step does not change it. If a quantity drifts for certain, each value is first
// moved to the change along the mean of the two sides' median slopes. Both sides
// have as many steps at about the same distance, so a loss that falls ever slower
// leaves no difference either. The spread is how far from their median half of the
// steps are, on the side where that is more.

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
	LossQuantity
	QuantityCount = int(iota)
)

// String returns the quantity's name in the keys of JSON.
func (q Quantity) String() string {
	return [...]string{
		"peak_allocated_bytes", "reserved_bytes", "activation_bytes", "step_time_ns", "tokens_per_second", "loss",
	}[q]
}

// drifts reports whether a quantity may move steadily from step to step while no
// setting changes: a loss falls, a leak grows. Times only scatter.
func (q Quantity) drifts() bool { return q != StepTimeQuantity && q != TokenRateQuantity }

// Level is the median of a quantity over some steps. If the quantity drifts, it
// is the level at the moment of the change.
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

// point is a quantity in one step.
type point struct{ step, value float64 }

// measure compares the steps before and after a change in step number at.
func (f *Effect) measure(before, after []*trace.Step, at int64) {
	b, a := pointsOf(before, f.Quantity, at), pointsOf(after, f.Quantity, at)
	if f.Quantity.drifts() {
		slope := drift(b, a)
		levelB, levelA := b.without(slope), a.without(slope)
		moved := math.Abs(slope) * float64(len(b)+len(a)) / 2
		if f.Quantity == LossQuantity || moved > max(levelB.scatter(), levelA.scatter()) { // a loss always drifts
			b, a = levelB, levelA
		}
	}
	f.Before, f.After = b.level(), a.level()
	if f.Measured = len(a) > 0 && len(b) > 0; f.Measured {
		f.Delta = f.After.Median - f.Before.Median
		f.Spread = max(b.scatter(), a.scatter())
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

type points []point

// pointsOf returns a quantity in some steps. It counts the steps from the step of
// a change.
func pointsOf(steps []*trace.Step, q Quantity, at int64) points {
	all := make(points, 0, len(steps))
	for _, s := range steps {
		if v, ok := quantityOf(s, q); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			all = append(all, point{float64(s.Number - at), v})
		}
	}
	return all
}

// without returns the points as they would be if there was no drift.
func (p points) without(slope float64) points {
	level := make(points, len(p))
	for i := range p {
		level[i] = point{p[i].step, p[i].value - slope*p[i].step}
	}
	return level
}

func (p points) level() Level {
	values := make([]float64, len(p))
	for i := range p {
		values[i] = p[i].value
	}
	return Level{median(values), len(p)}
}

// scatter returns how far from their median half of the values are.
func (p points) scatter() float64 {
	middle, apart := p.level().Median, make([]float64, len(p))
	for i := range p {
		apart[i] = math.Abs(p[i].value - middle)
	}
	return median(apart)
}

// drift returns the common slope of both sides, which is the mean of their median
// slopes.
func drift(sides ...points) (slope float64) {
	known := 0.0
	for _, p := range sides {
		if slopes := p.slopes(); len(slopes) > 0 {
			known++
			slope += median(slopes)
		}
	}
	return slope / max(known, 1)
}

// slopes returns the slopes between any two points.
func (p points) slopes() []float64 {
	var slopes []float64
	for i := range p {
		for j := range i {
			if apart := p[i].step - p[j].step; apart != 0 {
				slopes = append(slopes, (p[i].value-p[j].value)/apart)
			}
		}
	}
	return slopes
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
	case TokenRateQuantity:
		return float64(s.Tokens) / float64(s.Duration) * 1e9, s.Duration > 0 && s.Tokens > 0
	default:
		return s.Loss, !s.NoLoss
	}
}
