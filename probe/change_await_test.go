package probe

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestStepsWithoutAChange has steps that go on with another value, before and
// after the program takes it.
func TestStepsWithoutAChange(t *testing.T) {
	w := &awaited{key: "amp", value: "bf16"}
	step := func(number int64) bool {
		w.stepped(&trace.Step{Number: number, Settings: []trace.Value{{Key: "amp", Value: "off"}}})
		return w.refused.Load() != nil
	}
	for number := int64(1); number < 10; number++ {
		if step(number) {
			t.Fatalf("refused in step %d, before the program took it", number)
		}
	}
	w.taken.Store(true)
	for number, want := range []bool{10: false, 11: false, 12: false, 13: true} {
		if number >= 10 && step(int64(number)) != want {
			t.Errorf("step %d: refused is %v, want %v", number, !want, want)
		}
	}
}
