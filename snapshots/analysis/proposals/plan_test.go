package proposals

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

func TestAPlanIsOneChangeWhereMoreCannotBePredicted(t *testing.T) {
	settings := []trace.Option{
		{Key: "checkpoint", Value: "none", Choices: []string{"none", "block"}},
		{Key: "amp", Value: "off", Choices: []string{"off", "bf16"}},
	}
	p := refusing{program{"": timed(0, 0), "amp=bf16": timed(-1000, 1), "checkpoint=block": timed(-4000, 40)}}
	found, err := Find(t.Context(), p, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Search(t.Context(), p, found, peak, 1000, nil)
	if err != nil || plan.Fits || plan.Name() != "checkpoint=block" {
		t.Errorf("got %+v and %v", plan, err)
	}
}

func TestAPlanOffloadsMoreThanOneThing(t *testing.T) {
	settings := []trace.Option{{Key: "offload", Value: "none", Choices: []string{"none", "optimizer", "activations"}, Free: true}}
	p := program{"": timed(0, 0), "offload=optimizer": timed(-4000, 1), "offload=activations": timed(-3000, 1), "offload=optimizer+activations": timed(-7000, 2)}
	found, err := Find(t.Context(), p, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := Search(t.Context(), p, found, peak, 4000, nil); err != nil || plan.Name() != "offload=optimizer+activations" || !plan.Fits {
		t.Errorf("got %q and %v", plan.Name(), err)
	}
}

func TestAPlanHalvesSamplesUntilItFits(t *testing.T) {
	settings := []trace.Option{
		{Key: "amp", Value: "off", Choices: []string{"off", "bf16"}},
		{Key: "micro_batch", Value: "8", Free: true},
	}
	p := program{
		"": timed(0, 0), "micro_batch=4": timed(-4000, 1), "amp=bf16": timed(-1000, 10), "micro_batch=4 amp=bf16": timed(-4500, 11),
		"amp=bf16 micro_batch=2": timed(-6500, 11), "amp=bf16 micro_batch=1": timed(-7000, 11), "micro_batch=1": timed(-6800, 2), "micro_batch=2": timed(-6000, 2),
	}
	found, err := Find(t.Context(), p, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[int64]string{6_600: "micro_batch=4", 4_100: "amp=bf16 micro_batch=2", 3_800: "micro_batch=1", 1_000: "amp=bf16 micro_batch=1"} {
		plan, err := Search(t.Context(), p, found, peak, target, nil)
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
		"":         timed(0, 0),
		"amp=bf16": timed(-1000, 1), "checkpoint=sqrt": timed(-2000, 10), "checkpoint=block": timed(-4000, 40), "optimizer=sgd": timed(-500, 100),
		"amp=bf16 checkpoint=sqrt": timed(-2800, 9), "amp=bf16 checkpoint=block": timed(-4600, 35),
		"amp=bf16 checkpoint=block optimizer=sgd": timed(-5100, 135), "checkpoint=block optimizer=sgd": timed(-4500, 140),
	}
	found, err := Find(t.Context(), p, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		target int64
		want   string
		fits   bool
	}{
		"nothing, as it fits already":               {11_000, "", true},
		"the cheapest alone":                        {9_600, "amp=bf16", true},
		"two together":                              {7_800, "amp=bf16 checkpoint=sqrt", true},
		"one value after the other of a setting":    {6_000, "amp=bf16 checkpoint=block", true},
		"without the first, which is not needed":    {6_600, "checkpoint=block", true},
		"more, as blocks do not lie close together": {5_800, "amp=bf16 checkpoint=block optimizer=sgd", true},
		"what saves most, where nothing fits":       {4_000, "amp=bf16 checkpoint=block optimizer=sgd", false},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := Search(t.Context(), p, found, peak, test.target, nil)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Name() != test.want || plan.Fits != test.fits {
				t.Errorf("got %q, fits: %v; want %q, %v", plan.Name(), plan.Fits, test.want, test.fits)
			}
			if plan.Peak != peak+plan.Predicted.PeakAllocated || plan.Rehearsed != (plan.Peak <= test.target) {
				t.Errorf("got %+v", plan)
			}
		})
	}
}
