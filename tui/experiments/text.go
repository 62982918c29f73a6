package experiments

import (
	"math"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

// names are the names of the quantities on the screen.
var names = [analysis.QuantityCount]string{"peak allocated", "peak reserved", "activations", "step time", "tokens/s"}

// Amount writes an amount of a quantity with its unit.
func Amount(q analysis.Quantity, v float64) string {
	switch q {
	case analysis.PeakAllocatedQuantity, analysis.ReservedQuantity, analysis.ActivationQuantity:
		return screen.Bytes(int64(math.Round(v)))
	case analysis.StepTimeQuantity:
		return screen.Micros(int64(math.Round(v / 1000)))
	default:
		return screen.Count(int(math.Round(v)))
	}
}

// Signed writes by how much a quantity changes.
func Signed(q analysis.Quantity, delta float64) string {
	text := Amount(q, delta)
	if delta > 0 {
		return "+" + text
	}
	return text
}

// Outcome says in a few short parts what a measured change did, the most
// important part first.
func Outcome(e *analysis.Experiment) []string {
	var parts []string
	if f := &e.Effects[analysis.ReservedQuantity]; f.Measured && f.Foretold {
		parts = append(parts, "reserved "+measuredText(f), "predicted "+predictedText(f))
	}
	if f := &e.Effects[analysis.PeakAllocatedQuantity]; f.Measured {
		parts = append(parts, "peak "+measuredText(f))
	}
	if f := &e.Effects[analysis.StepTimeQuantity]; f.Measured {
		parts = append(parts, "step "+shareText(f))
	}
	if f := &e.Effects[analysis.PeakAllocatedQuantity]; f.Measured && f.Foretold {
		parts = append(parts, "predicted "+predictedText(f))
	}
	for _, with := range e.Overlaps {
		parts = append(parts, "together with "+with)
	}
	if f := &e.Effects[analysis.TokenRateQuantity]; f.Measured {
		parts = append(parts, measuredText(f)+" tokens/s")
	}
	return parts
}

// stateText is the state of a change, in at most fourteen cells.
func stateText(e *analysis.Experiment) string {
	step := "step " + strconv.FormatInt(e.Step, 10)
	switch {
	case e.State == trace.Refused:
		return "✗ refused"
	case e.State == trace.Pending:
		return "… pending"
	case !e.Done():
		return step + ", " + screen.Count(e.Settled) + "/" + screen.Count(e.Needed)
	}
	return step
}

func stateStyle(e *analysis.Experiment) screen.Style {
	switch {
	case e.State == trace.Refused:
		return screen.Bad
	case e.State == trace.Pending, !e.Done():
		return screen.Title
	}
	return screen.Plain
}

// stateSentence is the same as a sentence. The state may still change while the
// program runs.
func stateSentence(e *analysis.Experiment, running bool) string {
	applied := "applied at step " + screen.Count(int(e.Step))
	switch {
	case e.State == trace.Refused:
		return "refused"
	case e.State == trace.Pending && !running:
		return "pending: no step used it"
	case e.State == trace.Pending:
		return "pending: the next step uses it"
	case !e.Done():
		return applied + togetherText(e) + ", " + screen.Count(e.Settled) + " of " + screen.Plural(e.Needed, "step") + " measured"
	}
	return applied + togetherText(e) + ", " + screen.Plural(e.Settled, "step") + " measured"
}

// togetherText names the changes that were measured together with this one.
func togetherText(e *analysis.Experiment) string {
	if len(e.Overlaps) == 0 {
		return ""
	}
	return " together with " + strings.Join(e.Overlaps, ", ")
}

// errorText is the error of the prediction, as a part of the level.
func errorText(f *analysis.Effect) string {
	if !f.Compared {
		return ""
	}
	return strconv.FormatFloat(100*f.Error, 'f', 1, 64) + "%"
}

// shareText is a measured change as a part of the level before, with its error.
func shareText(f *analysis.Effect) string {
	if !f.Measured || f.Before.Median == 0 {
		return ""
	}
	text := percentText(f, f.Delta)
	if f.Spread > 0 {
		text += " ±" + strings.TrimPrefix(percentText(f, f.Spread), "+")
	}
	return text
}

// percentText is an amount as a part of the level before.
func percentText(f *analysis.Effect, amount float64) string {
	if !f.Measured || f.Before.Median == 0 {
		return ""
	}
	share, digits := 100*amount/f.Before.Median, 1
	if math.Abs(share) >= 100 {
		digits = 0
	}
	text := strconv.FormatFloat(share, 'f', digits, 64) + "%"
	if share > 0 {
		return "+" + text
	}
	return text
}

// predictedText and measuredText are the two sides of an effect.
func predictedText(f *analysis.Effect) string {
	if !f.Foretold {
		return ""
	}
	return Signed(f.Quantity, f.Predicted)
}

func measuredText(f *analysis.Effect) string {
	if !f.Measured {
		return ""
	}
	return Signed(f.Quantity, f.Delta)
}
