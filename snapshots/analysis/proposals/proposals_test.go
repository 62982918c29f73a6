package proposals

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

// program is one that says of each change what is set for it.
type program map[string]*trace.Prediction

func (p program) Predict(_ context.Context, changes []trace.Value) (*trace.Prediction, error) {
	return p[(&Proposal{Change: changes[0]}).Name()], nil
}

// Headroom says that one sample fits.
func (p program) Headroom(context.Context, []trace.Value, int64) (*trace.Headroom, error) {
	return &trace.Headroom{Samples: 1, Most: 1}, nil
}

func moves(peak int64) *trace.Prediction { return &trace.Prediction{PeakAllocated: peak} }

func TestTheBestProposalIsFirst(t *testing.T) {
	settings := []trace.Option{
		{Key: "checkpoint", Value: "none", Choices: []string{"none", "block", "sqrt"}, Free: true},
		{Key: "amp", Value: "off", Choices: []string{"off", "bf16", "fp16"}},
		{Key: "attention", Value: "auto", Choices: []string{"auto", "naive", "flash"}},
	}
	p := program{
		"checkpoint=block": moves(-3000), "checkpoint=sqrt": moves(-2000),
		"amp=bf16": moves(-100), "amp=fp16": moves(-9000), "attention=naive": moves(500),
	}
	a, err := Find(t.Context(), p, settings)
	fatal.If(t, err)
	var got []string
	for i := range a.Proposals {
		got = append(got, a.Proposals[i].Name())
	}
	want := []string{"amp=fp16", "checkpoint=block", "checkpoint=sqrt", "amp=bf16", "attention=naive"}
	equal.Values(t, "proposals", want, got)
	if n := len(a.Useful()); n != 4 {
		t.Errorf("%d proposals save memory, want 4", n)
	}
	equal.Values(t, "what the program cannot say", []string{"attention=flash"}, a.Unknown)
}

func TestAProgramThatAnswersNothingIsAnError(t *testing.T) {
	settings := []trace.Option{{Key: "amp", Value: "off", Choices: []string{"off", "bf16"}}}
	gone := errors.New("gone")
	if _, err := Find(t.Context(), absent{gone}, settings); !errors.Is(err, gone) {
		t.Errorf("got %v, want %v", err, gone)
	}
}

func TestAChangeThatIsRefusedIsOneOfMany(t *testing.T) {
	settings := []trace.Option{{Key: "amp", Value: "off", Choices: []string{"off", "bf16", "fp16"}}}
	a, err := Find(t.Context(), refusing{program{"amp=fp16": moves(-1)}}, settings)
	if err != nil || len(a.Proposals) != 1 || len(a.Unknown) != 1 || a.Unknown[0] != "amp=bf16" {
		t.Errorf("got %+v and %v", a, err)
	}
}

// refusing is a program that refuses to say what it does not know.
type refusing struct{ program }

func (r refusing) Predict(ctx context.Context, changes []trace.Value) (*trace.Prediction, error) {
	p, err := r.program.Predict(ctx, changes)
	if p == nil {
		err = errors.New("refused")
	}
	return p, err
}

// absent is a program that answers nothing.
type absent struct{ err error }

func (a absent) Predict(context.Context, []trace.Value) (*trace.Prediction, error) { return nil, a.err }

func (a absent) Headroom(context.Context, []trace.Value, int64) (*trace.Headroom, error) {
	return nil, a.err
}

func TestCandidates(t *testing.T) {
	tests := map[string]struct {
		setting trace.Option
		want    []string
	}{
		"every other choice":                {trace.Option{Key: "amp", Value: "bf16", Choices: []string{"off", "bf16", "fp16"}}, []string{"off", "fp16"}},
		"a value that is typed has choices": {trace.Option{Key: "checkpoint", Value: "every=2", Choices: []string{"none"}, Free: true}, []string{"none"}},
		"what holds together is joined":     {trace.Option{Key: "offload", Value: "optimizer", Choices: []string{"none", "optimizer", "gradients"}, Free: true}, []string{"none", "optimizer+gradients"}},
		"an action holds for no step":       {trace.Option{Key: "empty_cache", Value: "none", Choices: []string{"now"}}, nil},
		"memory does not depend on it":      {trace.Option{Key: "schedule", Value: "constant", Choices: []string{"constant", "cosine"}, Free: true, Neutral: true}, nil},
		"half of the samples at a time":     {trace.Option{Key: "micro_batch", Value: "8", Free: true}, []string{"4"}},
		"half of an odd number":             {trace.Option{Key: "micro_batch", Value: "5", Free: true}, []string{"2"}},
		"one sample has no half":            {trace.Option{Key: "micro_batch", Value: "1", Free: true}, nil},
		"another number is not halved":      {trace.Option{Key: "clip", Value: "1", Free: true}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range Candidates([]trace.Option{test.setting}) {
				got = append(got, v.Value)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
