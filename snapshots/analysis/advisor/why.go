package advisor

import (
	"memtop/snapshots/quantity"
)

// Why says what a prediction rests on.
func (o *Option) Why() string {
	text := "rehearsed by the program: the peak"
	if a := -o.Predicted.Activation; a > 0 {
		text += " with " + quantity.Bytes(a) + " of activations less"
	}
	switch {
	case o.Predicted.StepTimeKnown:
		return text + "; the step time follows from the layers' measured times"
	case o.Predicted.StepTimeEstimated:
		return text + "; the step time is estimated from what a step has to do"
	}
	return text + "; what it does to the step time is not known"
}
