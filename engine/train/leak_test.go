package train

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/memtop/memtop/engine/tensor"
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

// TestOnlyLostHandlesAreReportedAsLost runs steps with each mistake and looks
// what the garbage collector says.
func TestOnlyLostHandlesAreReportedAsLost(t *testing.T) {
	g := tiny()
	g.Context = 16
	for _, leak := range []Leak{NoLeak, LeakActivations, LeakCache, LeakGradients, LeakHandle} {
		t.Run("leak "+leak.String(), func(t *testing.T) {
			const taken = 5
			f := &finder{}
			b := newBench(t, 64<<20, g)
			b.device.OnLeak(f.found)
			trainer := b.trainer(t, DefaultSettings(), nil)
			trainer.Plant(leak)
			want := 0
			if leak == LeakHandle {
				want, b.lost = taken, taken*8*16*4
			}
			steps(t, trainer, taken)
			for deadline := time.Now().Add(time.Minute); len(f.all()) < want && time.Now().Before(deadline); {
				runtime.GC()
			}
			runtime.GC()
			runtime.GC()
			if n := len(f.all()); n != want {
				t.Errorf("%d storages are lost, want %d", n, want)
			}
			for _, l := range f.all() {
				if l.Label.Role != "copy of the input" || l.Bytes != 8*16*4 {
					t.Errorf("%s is lost", l)
				}
			}
		})
	}
}

// finder collects what was lost.
type finder struct {
	mu   sync.Mutex
	list []tensor.Leak
}

func (f *finder) found(l tensor.Leak) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, l)
}

func (f *finder) all() []tensor.Leak {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list)
}
