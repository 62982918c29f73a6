package proposals

import (
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// halved is the setting that takes any number and saves memory where it is less.
const halved = "micro_batch"

// joined is the setting whose values hold together, several with a sign between them,
// but for nothing.
const (
	joined  = "offload"
	joint   = "+"
	nothing = "none"
)

// join returns a value of a setting with another choice: in its place, or beside it
// where both hold together.
func join(v trace.Value, choice string) trace.Value {
	switch {
	case v.Key != joined || v.Value == nothing || choice == nothing:
		v.Value = choice
	case !slices.Contains(strings.Split(v.Value, joint), choice):
		v.Value += joint + choice
	}
	return v
}

// Candidates returns the single changes that a program's settings offer: every
// other choice of each setting, and half of the samples that run at a time. A
// setting that does not change memory is no candidate. Neither is an action,
// because it holds for no step; its value is none of its choices.
func Candidates(settings []trace.Option) []trace.Value {
	var all []trace.Value
	for i := range settings {
		o := &settings[i]
		if less, ok := half(o.Value); ok && o.Key == halved {
			all = append(all, trace.Value{Key: o.Key, Value: less})
		}
		if o.Neutral || o.IsAction(o.Value) {
			continue
		}
		for _, choice := range o.Choices {
			if v := join(trace.Value{Key: o.Key, Value: o.Value}, choice); v.Value != o.Value {
				all = append(all, v)
			}
		}
	}
	return all
}

// half returns half of a number of samples, and whether there is one.
func half(value string) (string, bool) {
	n, err := strconv.Atoi(value)
	return strconv.Itoa(n / 2), err == nil && n > 1
}
