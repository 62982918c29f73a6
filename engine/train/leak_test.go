package train

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

func TestPlantedLeaksGrowByTheSameEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	g := tiny()
	g.Context = 16 // a copy of the inputs is then a whole block of 512 bytes
	tests := map[string]struct {
		leak     Leak
		category trace.Category
		bytes    int64 // requested, a step
	}{
		"kept activations":  {LeakActivations, trace.Activation, 8 * 16 * 256 * 4},
		"a growing cache":   {LeakCache, trace.Workspace, cacheEntry * 4},
		"a kept gradient":   {LeakGradients, trace.Gradient, 256 * 16 * 4},
		"a handle lost":     {LeakHandle, trace.Input, 8 * 16 * 4},
		"nothing is leaked": {NoLeak, trace.OtherCategory, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 256<<20, g)
			if test.leak == LeakHandle {
				b.lost = 30 * test.bytes // it can never be given back
			}
			trainer := b.trainer(t, DefaultSettings(), nil)
			trainer.Plant(test.leak)
			before := steps(t, trainer, 1)[0]
			for _, e := range steps(t, trainer, 29) {
				growth := e.Memory.Now.Category[test.category] - before.Memory.Now.Category[test.category]
				if growth != test.bytes {
					t.Fatalf("step %d: %s grew by %d bytes, want %d", e.Step, test.category, growth, test.bytes)
				}
				if all := e.Memory.Allocated - before.Memory.Allocated; all != test.bytes {
					t.Fatalf("step %d: allocated memory grew by %d bytes, want %d", e.Step, all, test.bytes)
				}
				before = e
			}
			if got, err := ParseLeak(test.leak.String()); err != nil || got != test.leak {
				t.Errorf("%v parses as %v, %v", test.leak, got, err)
			}
		})
	}
	if _, err := ParseLeak("everything"); err == nil {
		t.Error("an unknown leak was accepted")
	}
}
