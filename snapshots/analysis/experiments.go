package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Experiment is a change of a setting, requested or made, and its result.
type Experiment struct {
	trace.Change
	// Event is the event of the change. It is −1 if the change has not come yet,
	// was never made, or has no event that is kept.
	Event   int
	Effects [QuantityCount]Effect
	// Once says that the change was an action, done once, which holds for no
	// step.
	Once bool
	// Settled is how many settled steps there have been since the change, and
	// Needed how many are needed: fewer than usual if another change came too
	// early.
	Settled, Needed int
	// Overlaps lists the other changes whose effect cannot be told apart from
	// this one's, as "key=value at step N". The measured effect is then that of
	// all together.
	Overlaps []string
	// Along lists the settings that the program changed together with this one,
	// as "key from → to".
	Along []string
}

// Done reports whether nothing more will be measured.
func (e *Experiment) Done() bool {
	return e.State == trace.Refused || e.State == trace.Applied && e.Settled >= e.Needed
}

// Experiments returns an experiment for every change of a setting, the oldest
// first: for requested changes, and for changes that the steps show although no
// known request asked for them. A running program and its recording give the same
// answer.
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

// Experiments is the function Experiments for the index's device. It also finds
// the events of the changes.
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

// order sorts experiments by the time of the request or, without a request, by
// the time when the change took effect.
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

// offered returns a function that reports whether a setting may be changed. Steps
// also report settings that the program does not offer to change; a change of
// such a setting is no experiment.
func offered(t *trace.Trace) func(key string) bool {
	return func(key string) bool {
		return t.Live == nil || len(t.Live.Options) == 0 ||
			slices.ContainsFunc(t.Live.Options, func(o trace.Option) bool { return o.Key == key })
	}
}

// unasked returns the changes that the steps show but that no known viewer asked
// for. One setting may change another: a setting that changes together with a
// requested one is noted in the Along of that request.
func unasked(steps []*trace.Step, known []Experiment, offered func(string) bool) []Experiment {
	var all []Experiment
	for i := 1; i < len(steps); i++ {
		before, now := steps[i-1], steps[i]
		if slices.Equal(before.Settings, now.Settings) {
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

// describe fills in the fields that need no measurement.
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
	}
}
