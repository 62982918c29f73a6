package train

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestStagedBatchesAreOnTheHostAndChangeNoLoss(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"with nothing else there": func(*Settings) {},
		"beside what is offloaded, in parts": func(s *Settings) {
			s.Offload, s.Accumulate = Offload{true, true, AllLayers, AllLayers}, 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := DefaultSettings()
			change(&s)
			want := steps(t, newBenchOf(t, 64<<20, device.Float32, tiny(), s.Offload).trainer(t, s, nil), 6)

			b := newBenchOf(t, 64<<20, device.Float32, tiny(), s.Offload)
			staging := NewStaging(b.device)
			trainer := b.trainer(t, s, func(c *Config) {
				t.Cleanup(staging.Close)
				c.Batches = b.loader(t, data.LoaderOptions{Batch: c.Batch, Workers: 3, Prefetch: 2, Memory: staging.Memory})
				c.Staging = staging
			})
			got := steps(t, trainer, 6)
			if diff := cmp.Diff(losses(want), losses(got)); diff != "" {
				t.Errorf("losses (-in ordinary memory +staged):\n%s", diff)
			}
			staged := staging.Bytes()
			if staging.Batches() != 9 || staged != 9*2*8*8*4 {
				t.Errorf("%d batches of %d bytes are staged, want 9 of 8 samples of twice 8 tokens", staging.Batches(), staged)
			}
			if n := got[5].Memory.Host[trace.Input] - want[5].Memory.Host[trace.Input]; n != staged {
				t.Errorf("%d bytes of inputs are on the host, want %d", n, staged)
			}
			plan := Plan{Build: gpt(tiny()), Spec: b.set.Spec(), Batch: 8, Staged: 9, Settings: s}
			estimate, err := plan.Estimate(t.Context())
			fatal.If(t, err)
			if diff := cmp.Diff(estimate.Memory, got[5].Memory); diff != "" {
				t.Errorf("memory (-estimate +measured):\n%s", diff)
			}
		})
	}
}

func TestOnlyWholeStagedMemoryIsKnown(t *testing.T) {
	staging := NewStaging(tensortest.Device(t))
	defer staging.Close()
	raw := staging.Memory(12)
	if staging.place(raw) == nil || staging.place(raw[4:]) != nil || staging.place(make([]byte, 12)) != nil {
		t.Error("what is staged is not told from what is not")
	}
}
