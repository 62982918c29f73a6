package train

import (
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/testing/collectivetest"
	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// together trains in a number of ranks within one process, each on its part of
// batches of 8, and returns the events by rank. after, which may be nil, is
// called between steps.
func together(t *testing.T, ranks, n int, s Settings, g nn.GPTConfig, after func(rank int, of *Trainer, e Event)) [][]Event {
	t.Helper()
	members := []collective.Group{nil}
	if ranks > 1 {
		members = collectivetest.New(ranks)
	}
	list := make([][]Event, ranks)
	trainers := make([]*Trainer, ranks)
	for rank, member := range members {
		b := newBench(t, 512<<20, g)
		l := b.loader(t, data.LoaderOptions{Batch: 8 / ranks, Part: rank, Parts: ranks})
		trainers[rank] = b.trainer(t, s, func(c *Config) {
			c.Batches, c.Batch, c.Group = l, 8/ranks, member
			c.Scaler.Initial = 1 << 22 // it overflows at first
		})
	}
	var all sync.WaitGroup
	for rank, trainer := range trainers {
		all.Go(func() { // a failed step would leave the others waiting: it ends the test
			for range n {
				e, err := trainer.Step(t.Context())
				if err != nil {
					panic(err)
				}
				list[rank] = append(list[rank], e)
				if after != nil {
					after(rank, trainer, e)
				}
			}
		})
	}
	all.Wait()
	return list
}

func TestRanksTrainAsOneProcessDoes(t *testing.T) {
	tests := map[string]string{
		"plainly":                               "",
		"in parts":                              "accumulate=2",
		"with checkpoints":                      "checkpoint=block",
		"with gradients moved":                  "offload=gradients,optimizer",
		"with layers on the host":               "host=wte+lm_head+loss",
		"with layers on the host, in parts":     "host=h.1+loss accumulate=2",
		"with layers on the host, dividing":     "host=wte+lm_head+loss shard=optimizer",
		"dividing the optimizer's state":        "shard=optimizer",
		"dividing gradients":                    "shard=gradients",
		"dividing parameters":                   "shard=parameters",
		"dividing parameters, in parts":         "shard=parameters accumulate=2",
		"dividing parameters, with checkpoints": "shard=parameters checkpoint=block",
		"dividing the state of lion":            "shard=gradients optimizer=lion",
	}
	for name, settings := range tests {
		t.Run(name, func(t *testing.T) {
			const n = 4
			s, err := DefaultSettings().changed(values(settings))
			fatal.If(t, err)
			whole := s
			whole.Shard = ShardNothing
			alone := together(t, 1, n, whole, tiny(), nil)[0]
			for _, ranks := range []int{2, 4} {
				if ranks == 4 && s.Accumulate > 1 {
					continue
				}
				for rank, events := range together(t, ranks, n, s, tiny(), nil) {
					for i, e := range events {
						if d := math.Abs(e.Loss - alone[i].Loss); !(d <= 1e-5) {
							t.Fatalf("rank %d of %d, step %d: the loss is %v, of one process %v", rank, ranks, i+1, e.Loss, alone[i].Loss)
						}
						if own := e.Ranks[rank]; len(e.Ranks) != ranks || own.PeakAllocated != e.Memory.PeakAllocated || own.AtPeak != e.Memory.AtPeak {
							t.Fatalf("rank %d of %d is known as %+v, and is %+v", rank, len(e.Ranks), own, e.Memory)
						}
					}
				}
			}
		})
	}
}

func TestGradientsOfLayersOnTheHostAreNotDivided(t *testing.T) {
	together(t, 2, 1, DefaultSettings(), tiny(), func(_ int, of *Trainer, _ Event) {
		for _, shard := range []string{"gradients", "parameters"} {
			s := of.Settings()
			s.Host = "wte"
			s.Shard, _ = ParseShard(shard)
			_, err := of.settle(s)
			if want := "host=wte with shard=" + shard; err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s …", err, want)
			}
		}
	})
}

func TestAllRanksHearThatOneIsToEnd(t *testing.T) {
	heard := make([]int64, 2)
	together(t, 2, 4, DefaultSettings(), tiny(), func(rank int, of *Trainer, e Event) {
		if rank == 1 && e.Step == 1 {
			of.config.Ends = func() bool { return true }
		}
		if of.Ends() && heard[rank] == 0 {
			heard[rank] = e.Step
		}
	})
	equal.Values(t, "the steps after which ranks heard of it", []int64{2, 2}, heard)
}

// TestRanksTakeTheMemoryThatWasPredicted compares every stage with its rehearsal,
// to the byte, and with the share that the stage promises.
func TestRanksTakeTheMemoryThatWasPredicted(t *testing.T) {
	const ranks = 4
	g := nn.GPTConfig{Layers: 3, Dim: 64, Heads: 4, Context: 16, Vocab: 256, Bias: true}
	var whole Memory
	for _, shard := range Shards() {
		for _, mode := range []amp.Mode{amp.Off, amp.FP16} {
			s := DefaultSettings()
			s.Shard, s.AMP = shard, mode
			plan := Plan{Build: gpt(g), Spec: newBench(t, 64<<20, g).set.Spec(), Batch: 2, Settings: s, Group: collective.Rehearsal(0, ranks)}
			want, err := plan.Estimate(t.Context())
			fatal.If(t, err)
			events := together(t, ranks, 3, s, g, nil)
			got := events[0][2].Memory
			if got.PeakAllocated != want.Memory.PeakAllocated || got.AtPeak != want.Memory.AtPeak || got.Allocated != want.Memory.Allocated {
				t.Errorf("shard=%v, amp=%v: measured %+v,\npredicted %+v", shard, mode, got, want.Memory)
			}
			if shard == ShardNothing {
				whole = got
			}
			for category, from := range map[trace.Category]Shard{trace.Optimizer: ShardOptimizer, trace.Parameter: ShardParameters} {
				part := whole.Now.Category[category]
				if shard >= from {
					part /= ranks
				}
				if n := got.Now.Category[category]; n < part-16 || n > part+64 { // the loss scale is whole, and parts are rounded
					t.Errorf("shard=%v, amp=%v: %d bytes of %v, want %d", shard, mode, n, category, part)
				}
			}
		}
	}
}

func TestAStageChangesWhileRanksTrain(t *testing.T) {
	alone := together(t, 1, 10, DefaultSettings(), tiny(), nil)[0]
	stages := []string{"optimizer", "parameters", "none", "gradients"}
	for rank, events := range together(t, 2, 10, DefaultSettings(), tiny(), func(rank int, of *Trainer, e Event) {
		if i := int(e.Step) / 2; rank == 0 && e.Step%2 == 1 && i < len(stages) { // all follow after the step in which they hear of it
			if err := of.Change("shard", stages[i]); err != nil {
				t.Error(err)
			}
		}
	}) {
		seen := make(map[Shard]bool)
		for i, e := range events {
			seen[e.Settings.Shard] = true
			if d := math.Abs(e.Loss - alone[i].Loss); !(d <= 1e-5) {
				t.Errorf("rank %d, step %d with shard=%v: the loss is %v, of one process %v", rank, i+1, e.Settings.Shard, e.Loss, alone[i].Loss)
			}
		}
		if len(seen) != len(Shards()) {
			t.Errorf("rank %d had the stages %v", rank, seen)
		}
	}
}

// TestStagesTrainAlikeInHalfPrecision compares each stage with none, which sums the
// same gradients in another order: with a loss scale that overflows at first, too.
func TestStagesTrainAlikeInHalfPrecision(t *testing.T) {
	fatal.IfShort(t)
	for _, mode := range []amp.Mode{amp.BF16, amp.FP16} {
		s := DefaultSettings()
		s.AMP = mode
		whole := together(t, 2, 8, s, tiny(), nil)[0]
		skipped := 0
		for _, shard := range Shards()[1:] {
			s.Shard = shard
			for i, e := range together(t, 2, 8, s, tiny(), nil)[1] {
				if d := math.Abs(e.Loss-whole[i].Loss) / whole[i].Loss; !(d <= 1e-3) || e.Skipped != whole[i].Skipped {
					t.Errorf("amp=%v shard=%v, step %d: loss %v, skipped %v; of whole gradients %v, %v",
						mode, shard, i+1, e.Loss, e.Skipped, whole[i].Loss, whole[i].Skipped)
				}
				if e.Skipped {
					skipped++
				}
			}
		}
		if all := 8 * 3; mode == amp.FP16 && (skipped == 0 || skipped == all) {
			t.Errorf("%d of %d steps were skipped: nothing is shown", skipped, all)
		}
	}
}

// noting is a group that notes which of its operations are waited for only after more
// of the model has run.
type noting struct {
	collective.Group
	ran               int // layers, forward and backward
	begun, overlapped int
}

type noted struct {
	collective.Pending
	group *noting
	begun int // when so many layers had run; -1 once it was waited for
}

func (n *noted) Wait() error {
	if n.begun >= 0 && n.group.ran > n.begun {
		n.group.overlapped++
	}
	n.begun = -1
	return n.Pending.Wait()
}

func (n *noting) note(p collective.Pending) collective.Pending {
	n.begun++
	return &noted{p, n, n.ran}
}

func (n *noting) AllReduce(a device.Array) collective.Pending { return n.note(n.Group.AllReduce(a)) }

func (n *noting) ReduceScatter(dst, src device.Array) collective.Pending {
	return n.note(n.Group.ReduceScatter(dst, src))
}

func (n *noting) AllGather(dst, src device.Array) collective.Pending {
	return n.note(n.Group.AllGather(dst, src))
}

// TestRanksCommunicateWhileLayersRun looks at the operations of a step that layers run
// beside: those of buckets, of gradients and of parameters.
func TestRanksCommunicateWhileLayersRun(t *testing.T) {
	g := nn.GPTConfig{Layers: 4, Dim: 64, Heads: 4, Context: 16, Vocab: 256, Bias: true}
	for _, shard := range Shards() {
		t.Run("shard="+shard.String(), func(t *testing.T) {
			var groups [2]*noting
			var trainers [2]*Trainer
			for rank, member := range collectivetest.New(2) {
				b := newBench(t, 64<<20, g)
				l := b.loader(t, data.LoaderOptions{Batch: 2, Part: rank, Parts: 2})
				n := &noting{Group: member}
				s := DefaultSettings()
				s.Shard = shard
				groups[rank] = n
				trainers[rank] = b.trainer(t, s, func(c *Config) { c.Batches, c.Batch, c.Group = l, 2, n })
				trainers[rank].Ctx().AddHooks(nn.Hooks{
					Pre:      func(*nn.Ctx, *nn.Layer, []*autograd.Value) { n.ran++ },
					Backward: func(*nn.Ctx, *nn.Layer, *tensor.Tensor) { n.ran++ },
				})
			}
			for range 3 { // the first finds out how often gradients are added to, and in what order parameters are fetched
				for _, n := range groups {
					n.begun, n.overlapped = 0, 0
				}
				if _, failures := stepped(t, trainers[:]); failures[0] != nil || failures[1] != nil {
					t.Fatal(failures)
				}
			}
			for rank, n := range groups {
				if t.Logf("rank %d: layers ran beside %d of %d operations", rank, n.overlapped, n.begun); n.overlapped < 3*g.Layers {
					t.Errorf("rank %d: layers ran beside %d operations only", rank, n.overlapped)
				}
			}
		})
	}
}

// parted is a plan of a GPT whose tensors can all be divided among four.
func parted(t *testing.T) Plan {
	t.Helper()
	g := nn.GPTConfig{Layers: 3, Dim: 64, Heads: 4, Context: 16, Vocab: 256, Bias: true}
	s := DefaultSettings()
	s.Checkpoint = nn.PerBlock()
	return Plan{Build: gpt(g), Spec: newBench(t, 64<<20, g).set.Spec(), Batch: 2, Settings: s}
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
