package proposals

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestAPlanIsOneChangeWhereMoreCannotBePredicted(t *testing.T) {
	settings := []trace.Option{
		{Key: "checkpoint", Value: "none", Choices: []string{"none", "block"}},
		{Key: "amp", Value: "off", Choices: []string{"off", "bf16"}},
	}
	p := refusing{program{"": moves(0), "amp=bf16": moves(-1000), "checkpoint=block": moves(-4000)}}
	found, err := Find(t.Context(), p, settings)
	fatal.If(t, err)
	plan, err := Search(t.Context(), p, found, peak, 1000)
	if err != nil || plan.Fits || plan.Name() != "checkpoint=block" {
		t.Errorf("got %+v and %v", plan, err)
	}
}

func TestAPlanOffloadsMoreThanOneThing(t *testing.T) {
	settings := []trace.Option{{Key: "offload", Value: "none", Choices: []string{"none", "optimizer", "activations"}, Free: true}}
	p := program{"": moves(0), "offload=optimizer": moves(-4000), "offload=activations": moves(-3000), "offload=optimizer+activations": moves(-7000)}
	found, err := Find(t.Context(), p, settings)
	fatal.If(t, err)
	if plan, err := Search(t.Context(), p, found, peak, 4000); err != nil || plan.Name() != "offload=optimizer+activations" || !plan.Fits {
		t.Errorf("got %q and %v", plan.Name(), err)
	}
}

func TestAPlanHalvesSamplesUntilItFits(t *testing.T) {
	settings := []trace.Option{
		{Key: "amp", Value: "off", Choices: []string{"off", "bf16"}},
		{Key: "micro_batch", Value: "8", Free: true},
	}
	p := program{
		"": moves(0), "micro_batch=4": moves(-4000), "amp=bf16": moves(-1000), "micro_batch=4 amp=bf16": moves(-4500),
		"amp=bf16 micro_batch=2": moves(-6500), "amp=bf16 micro_batch=1": moves(-7000), "micro_batch=1": moves(-6800), "micro_batch=2": moves(-6000),
	}
	found, err := Find(t.Context(), p, settings)
	fatal.If(t, err)
	for target, want := range map[int64]string{6_600: "micro_batch=4", 4_100: "amp=bf16 micro_batch=2", 3_800: "micro_batch=1", 1_000: "amp=bf16 micro_batch=1"} {
		plan, err := Search(t.Context(), p, found, peak, target)
		if err != nil || plan.Name() != want || plan.Fits != (target > 1_000) {
			t.Errorf("for %d: got %q, fits: %v, error %v; want %q", target, plan.Name(), plan.Fits, err, want)
		}
	}
}

func TestAPlanHasWhatIsNeeded(t *testing.T) {
	settings := []trace.Option{
		{Key: "checkpoint", Value: "none", Choices: []string{"none", "block", "sqrt"}},
		{Key: "amp", Value: "off", Choices: []string{"off", "bf16"}},
		{Key: "optimizer", Value: "adamw", Choices: []string{"adamw", "sgd"}},
	}
	p := program{
		"":         moves(0),
		"amp=bf16": moves(-1000), "checkpoint=sqrt": moves(-2000), "checkpoint=block": moves(-4000), "optimizer=sgd": moves(-500),
		"checkpoint=block amp=bf16": moves(-4600), "checkpoint=block optimizer=sgd": moves(-5400),
		"checkpoint=block amp=bf16 optimizer=sgd": moves(-5500),
	}
	found, err := Find(t.Context(), p, settings)
	fatal.If(t, err)
	for name, test := range map[string]struct {
		target int64
		want   string
		fits   bool
	}{
		"nothing, as it fits already":               {11_000, "", true},
		"what saves most alone":                     {9_600, "checkpoint=block", true},
		"more, as blocks do not lie close together": {6_000, "checkpoint=block amp=bf16", true},
		"without the second, which is not needed":   {5_800, "checkpoint=block optimizer=sgd", true},
		"all together":                              {5_050, "checkpoint=block amp=bf16 optimizer=sgd", true},
		"all of them, where nothing fits":           {4_000, "checkpoint=block amp=bf16 optimizer=sgd", false},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := Search(t.Context(), p, found, peak, test.target)
			fatal.If(t, err)
			if plan.Name() != test.want || plan.Fits != test.fits {
				t.Errorf("got %q, fits: %v; want %q, %v", plan.Name(), plan.Fits, test.want, test.fits)
			}
			if plan.Peak != peak+plan.Predicted.PeakAllocated || plan.Rehearsed != (plan.Peak <= test.target) {
				t.Errorf("got %+v", plan)
			}
		})
	}
}
