package proposals

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// Proposal is a change of settings with its expected effect.
type Proposal struct {
	Change    []trace.Value
	Predicted trace.Prediction
	Error     *Error // of past predictions, nil while there is none
}

// Name writes the change as `memtop set` takes it.
func (o *Proposal) Name() string {
	words := make([]string, len(o.Change))
	for i, v := range o.Change {
		words[i] = v.Key + "=" + v.Value
	}
	return strings.Join(words, " ")
}

// Saved is by how many bytes the proposal lowers the peak. It is negative if the
// proposal raises the peak.
func (o *Proposal) Saved() int64 { return -o.Predicted.PeakAllocated }

// Timed reports whether the effect of the proposal on the step time is known,
// measured or estimated.
func (o *Proposal) Timed() bool { return o.Predicted.Timed() }

// Answer has the program's predictions for its settings.
type Answer struct {
	Proposals []Proposal // the best first; those that save nothing are last
	// Unknown are the changes whose effect the program cannot predict.
	Unknown []string
	// Headroom says how many samples fit without a change, nil if not known.
	Headroom *trace.Headroom
	Error    *Error // of all past predictions, nil while there is none
}

// Find asks the program about every single change that its settings offer. The
// program may refuse to predict some of them. Find fails if it predicts none.
func Find(ctx context.Context, program Program, settings []trace.Option, past Ledger) (*Answer, error) {
	a := &Answer{Error: past.sum(func(*Entry) bool { return true })}
	var failed error
	for _, change := range Candidates(settings) {
		o := Proposal{Change: []trace.Value{change}, Error: past.Of(change.Key)}
		p, err := program.Predict(ctx, o.Change)
		failed = cmp.Or(failed, err)
		if err != nil || p == nil {
			a.Unknown = append(a.Unknown, o.Name())
			continue
		}
		o.Predicted = *p
		a.Proposals = append(a.Proposals, o)
	}
	if failed != nil && len(a.Proposals) == 0 {
		return nil, failed
	}
	slices.SortStableFunc(a.Proposals, compare)
	if h, err := program.Headroom(ctx, nil, 0); err == nil { // a program that does not know the question still has settings
		a.Headroom = h
	}
	return a, ctx.Err()
}

// compare puts the better of two proposals first: what saves memory and costs no
// time, then by bytes saved for each nanosecond, then what costs an unknown time, and
// last what saves nothing.
func compare(a, b Proposal) int {
	if c := cmp.Compare(a.class(), b.class()); c != 0 {
		return c
	}
	if a.class() == costly {
		return cmp.Compare(b.rate(), a.rate())
	}
	return cmp.Compare(b.Saved(), a.Saved())
}

// class is a group of proposals that are ordered alike.
type class uint8

const (
	free class = iota // it costs no time
	costly
	untimed
	useless
)

func (o *Proposal) class() class {
	switch {
	case o.Saved() <= 0:
		return useless
	case !o.Timed():
		return untimed
	case o.Predicted.StepTime <= 0:
		return free
	}
	return costly
}

// rate is the bytes saved for each nanosecond of a step.
func (o *Proposal) rate() float64 { return float64(o.Saved()) / float64(o.Predicted.StepTime) }

// Useful are the proposals that save memory.
func (a *Answer) Useful() []Proposal {
	i := slices.IndexFunc(a.Proposals, func(o Proposal) bool { return o.class() == useless })
	if i < 0 {
		return a.Proposals
	}
	return a.Proposals[:i]
}
