package train

import (
	"math"
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
