package train

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// parted is a plan of a GPT whose tensors can all be divided among four.
func parted(t *testing.T) Plan {
	t.Helper()
	g := nn.GPTConfig{Layers: 3, Dim: 64, Heads: 4, Context: 16, Vocab: 256, Bias: true}
	s := DefaultSettings()
	s.Checkpoint = nn.PerBlock()
	return Plan{Build: gpt(g), Spec: newBench(t, 64<<20, g).set.Spec(), Batch: 2, Settings: s}
}

func TestAModelLargerThanADeviceFitsOnSeveral(t *testing.T) {
	plan := parted(t)
	plan.Build = gpt(nn.GPTConfig{Layers: 4, Dim: 256, Heads: 4, Context: 16, Vocab: 256, Bias: true})
	plan.Capacity = 40 << 20 // the parameters alone take 12 MiB, and everything four times as much
	if _, err := plan.Estimate(t.Context()); err == nil {
		t.Fatal("it fits on one: the test shows nothing")
	}
	plan.Settings.Shard, plan.Group = ShardParameters, collective.Rehearsal(0, 8)
	if _, err := plan.Estimate(t.Context()); err != nil {
		t.Errorf("of eight: %v", err)
	}
}

// TestPartsAreConvertedBeforeTheyAreGathered looks at the copies in bfloat16 that
// autocast keeps: those of parts are parts.
func TestPartsAreConvertedBeforeTheyAreGathered(t *testing.T) {
	plan := parted(t)
	plan.Settings.AMP, plan.Settings.Checkpoint = amp.BF16, nn.Policy{} // a checkpoint drops the copies anyway
	workspace := func(s Shard) int64 {
		plan.Settings.Shard, plan.Group = s, collective.Rehearsal(0, 4)
		e, err := plan.Estimate(t.Context())
		fatal.If(t, err)
		return e.Memory.Highest[trace.Workspace]
	}
	const weights = 3 * 12 * 64 * 64 * 2 // in the layers' products, in bfloat16
	if kept, passing := workspace(ShardGradients), workspace(ShardParameters); kept-passing < weights*6/10 {
		t.Errorf("%d bytes of workspace where weights are whole and %d where they are divided; the copies are %d", kept, passing, weights)
	}
}

// TestWhatIsGatheredIsGivenUp looks at layers that share a table and fetch it in
// each layer: a table that was fetched ahead must be used.
func TestWhatIsGatheredIsGivenUp(t *testing.T) {
	gathered := func(layers int) int64 {
		plan := parted(t)
		plan.Settings.Checkpoint = nn.Policy{}
		plan.Build = func(d *tensor.Device) (nn.Module, error) {
			return nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.Llama {
				return nn.NewLlama(b, nn.LlamaConfig{Layers: layers, Dim: 64, Heads: 4, KVHeads: 4, Hidden: 128, Context: 16, Vocab: 256})
			})
		}
		plan.Settings.Shard, plan.Group = ShardParameters, collective.Rehearsal(0, 4)
		e, err := plan.Estimate(t.Context())
		fatal.If(t, err)
		return e.Memory.Highest[trace.Parameter] - e.Parameters // a quarter of four bytes
	}
	if few, many := gathered(2), gathered(8); many-few > 4096 {
		t.Errorf("%d bytes are gathered at once of 2 layers, %d of 8", few, many)
	}
}
