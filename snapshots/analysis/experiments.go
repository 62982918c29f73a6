package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Experiment is a setting that was changed, or was wanted to, and what came of it.
type Experiment struct {
	trace.Change
	// Event is that of the change, −1 when there is none: not yet, never, or
	// its events are not kept.
	Event   int
	Effects [QuantityCount]Effect
	// Once says that it was something to be done, which holds for no step.
	Once bool
	// Settled is how many settled steps there are since, of Needed: fewer than
	// usual where another change came before.
	Settled, Needed int
	// Overlaps lists the other changes whose steps cannot be told from this one's,
	// as "key=value at step N". What was measured is then the effect of all.
	Overlaps []string
	// Along lists what the program changed together with it, as "key from → to".
	Along []string
}

// Done reports whether nothing more will be measured.
func (e *Experiment) Done() bool {
	return e.State == trace.Refused || e.State == trace.Applied && e.Settled >= e.Needed
}

// Experiments returns what was made of every change of a setting, the oldest
// first: of requested ones, and of those that the steps show
// without that anybody is known to have. A running program and its recording
// answer the same.
func Experiments(t *trace.Trace, device int) []Experiment {
	steps := stepsOf(t, device)
	all := asked(t)
	all = append(all, unasked(steps, all, offered(t))...)
	for i := range all {
		all[i].describe()
	}
	slices.SortStableFunc(all, func(a, b Experiment) int { return cmp.Compare(a.order(), b.order()) })
	for _, group := range groups(all) {
		group.measure(steps)
	}
	return all
}

// Experiments is the function of that name for the index's device, and knows
// where in the events the changes are.
func (x *Index) Experiments() []Experiment {
	all := Experiments(x.trace, x.device.ID)
	for _, i := range x.calendar().Changes {
		e := x.events.At(int(i))
		text := x.tables.String(x.tables.Notes[e.Note].UserMetadata)
		for k := range all {
			if c := &all[k]; c.State == trace.Applied && c.Step == e.Size && text == c.Key+"="+c.To {
				c.Event = int(i)
			}
		}
	}
	return all
}

// order sorts experiments by when they were requested or, where they were not,
// by when they took effect.
func (e *Experiment) order() int64 { return e.Time }

// stepsOf returns the steps of a device.
func stepsOf(t *trace.Trace, device int) []*trace.Step {
	steps := make([]*trace.Step, 0, len(t.Steps))
	for i := range t.Steps {
		if t.Steps[i].Device == device {
			steps = append(steps, &t.Steps[i])
		}
	}
	return steps
}

// asked returns the requested changes.
func asked(t *trace.Trace) []Experiment {
	var all []Experiment
	if t.Live != nil {
		for _, c := range t.Live.Changes {
			i := slices.IndexFunc(t.Live.Options, func(o trace.Option) bool { return o.Key == c.Key })
			all = append(all, Experiment{Change: c, Event: -1, Once: i >= 0 && t.Live.Options[i].IsAction(c.From)})
		}
	}
	return all
}

// offered tells of a setting whether it may be changed. What a program lets nobody change, and steps report all the
// same, is no experiment when it moves.
func offered(t *trace.Trace) func(key string) bool {
	return func(key string) bool {
		return t.Live == nil || len(t.Live.Options) == 0 ||
			slices.ContainsFunc(t.Live.Options, func(o trace.Option) bool { return o.Key == key })
	}
}

// unasked returns the changes that steps show and no viewer is known to have asked
// for. One setting may bring another with it: what changes together with
// something that was asked for is noted there.
func unasked(steps []*trace.Step, known []Experiment, offered func(string) bool) []Experiment {
	var all []Experiment
	for i := 1; i < len(steps); i++ {
		before, now := steps[i-1], steps[i]
		if sameValues(before.Settings, now.Settings) {
			continue
		}
		cause := slices.IndexFunc(known, func(e Experiment) bool { return e.State == trace.Applied && e.Step == now.Number })
		for _, v := range now.Settings {
			from, ok := valueOf(before.Settings, v.Key)
			if !ok || from == v.Value || !offered(v.Key) || isKnown(known, now.Number, v.Key) {
				continue
			}
			if cause >= 0 {
				known[cause].Along = append(known[cause].Along, v.Key+" "+from+" → "+v.Value)
				continue
			}
			all = append(all, Experiment{Event: -1, Change: trace.Change{
				Key: v.Key, From: from, To: v.Value, State: trace.Applied, Step: now.Number, Time: now.Time - now.Duration/1000,
			}})
		}
	}
	return all
}

// sameValues compares lists that are mostly the very same one.
func sameValues(a, b []trace.Value) bool {
	if len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] {
		return true
	}
	return slices.Equal(a, b)
}

func valueOf(values []trace.Value, key string) (string, bool) {
	for _, v := range values {
		if v.Key == key {
			return v.Value, true
		}
	}
	return "", false
}

func isKnown(known []Experiment, step int64, key string) bool {
	return slices.ContainsFunc(known, func(e Experiment) bool {
		return e.State == trace.Applied && e.Step == step && e.Key == key
	})
}

// describe fills in what is known without any measuring.
func (e *Experiment) describe() {
	e.Needed = measuredSteps
	for q := range e.Effects {
		e.Effects[q].Quantity = Quantity(q)
	}
	switch p := e.Predicted; {
	case p == nil:
	case p.Reserved != nil:
		e.Effects[ReservedQuantity].foretell(*p.Reserved)
	default:
		e.Effects[PeakAllocatedQuantity].foretell(p.PeakAllocated)
		e.Effects[ActivationQuantity].foretell(p.Activation)
		if p.Timed() {
			e.Effects[StepTimeQuantity].foretell(p.StepTime)
		}
	}
}
