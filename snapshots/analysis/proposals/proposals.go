package proposals

import (
	"cmp"
	"context"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Program answers questions about a running program. Both methods return nil if
// the program cannot answer.
type Program interface {
	Predict(ctx context.Context, changes []trace.Value) (*trace.Prediction, error)
	// Headroom says how many samples at a time fit into a number of bytes; 0 means the
	// whole memory of the device.
	Headroom(ctx context.Context, changes []trace.Value, capacity int64) (*trace.Headroom, error)
}

// Proposal is a change of settings with its expected effect.
type Proposal struct {
	Change    trace.Value
	Predicted trace.Prediction
}

// Name writes the change as `memtop set` takes it.
func (o *Proposal) Name() string { return o.Change.Key + "=" + o.Change.Value }

// Saved is by how many bytes the proposal lowers the peak. It is negative if the
// proposal raises the peak.
func (o *Proposal) Saved() int64 { return -o.Predicted.PeakAllocated }

// Answer has the program's predictions for its settings.
type Answer struct {
	Proposals []Proposal // the best first; those that save nothing are last
	// Unknown are the changes whose effect the program cannot predict.
	Unknown []string
	// Headroom says how many samples fit without a change, nil if not known.
	Headroom *trace.Headroom
}

// Find asks the program about every single change that its settings offer. The
// program may refuse to predict some of them. Find fails if it predicts none.
func Find(ctx context.Context, program Program, settings []trace.Option) (*Answer, error) {
	a := new(Answer)
	var failed error
	for _, change := range Candidates(settings) {
		o := Proposal{Change: change}
		p, err := program.Predict(ctx, []trace.Value{change})
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
	slices.SortStableFunc(a.Proposals, func(a, b Proposal) int { return cmp.Compare(b.Saved(), a.Saved()) })
	if h, err := program.Headroom(ctx, nil, 0); err == nil { // a program that does not know the question still has settings
		a.Headroom = h
	}
	return a, ctx.Err()
}

// Useful are the proposals that save memory.
func (a *Answer) Useful() []Proposal {
	i := slices.IndexFunc(a.Proposals, func(o Proposal) bool { return o.Saved() <= 0 })
	if i < 0 {
		return a.Proposals
	}
	return a.Proposals[:i]
}
