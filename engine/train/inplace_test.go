package train

import (
	"math"
	"strings"
	"testing"
)

// TestALossIsThatOfItsBatchInWhateverParts changes how a batch runs before every
// step.
func TestALossIsThatOfItsBatchInWhateverParts(t *testing.T) {
	run := func(values ...[2]string) []float64 {
		trainer := newBench(t, 64<<20, tiny()).trainer(t, DefaultSettings(), nil)
		var list []float64
		for _, v := range values {
			if err := trainer.Change(v[0], v[1]); err != nil {
				t.Fatal(err)
			}
			list = append(list, losses(steps(t, trainer, 1))...)
		}
		return list
	}
	whole := [2]string{"micro_batch", "8"}
	want := run(whole, whole, whole, whole, whole, whole)
	got := run([2]string{"accumulate", "8"}, [2]string{"micro_batch", "3"}, [2]string{"accumulate", "2"}, whole,
		[2]string{"micro_batch", "1"}, [2]string{"micro_batch", "5"})
	for i := range want {
		if math.Abs(want[i]-got[i]) > 1e-5 {
			t.Errorf("step %d: loss %v in parts, %v at once", i+1, got[i], want[i])
		}
	}
}

// TestASettingSaysWhyActivationsDoNotWorkInPlace looks at what the setting says of
// itself, at the losses and at the estimate.
func TestASettingSaysWhyActivationsDoNotWorkInPlace(t *testing.T) {
	g := tiny()
	g.Dropout = 0.1
	about := func(trainer *Trainer) string {
		for _, o := range trainer.Options() {
			if o.Key == "in_place" {
				return o.About
			}
		}
		return ""
	}
	b := newBench(t, 64<<20, g)
	trainer := b.trainer(t, DefaultSettings(), nil)
	steps(t, trainer, 1)
	if strings.Contains(about(trainer), "activations do") {
		t.Errorf("before it was tried: %s", about(trainer))
	}
	if err := trainer.Change("in_place", "on"); err != nil {
		t.Fatal(err)
	}
	got := losses(steps(t, trainer, 2))
	const want = "5 of 9 activations do; not h.0.mlp.gelu: its backward pass reads what it is given"
	if text := about(trainer); !strings.HasSuffix(text, ": "+want) {
		t.Errorf("it says %q, want %q at its end", text, want)
	}
	plain := losses(steps(t, newBench(t, 64<<20, g).trainer(t, DefaultSettings(), nil), 3))[1:]
	for i := range got {
		if got[i] != plain[i] {
			t.Errorf("loss %v in place, %v without", got[i], plain[i])
		}
	}
	p := b.plan(g)
	p.Settings.InPlace = true
	if e, err := p.Estimate(t.Context()); err != nil || e.InPlace() != want {
		t.Errorf("the estimate says %q, %v", e.InPlace(), err)
	}
}
