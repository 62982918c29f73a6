package train

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/collectivetest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
)

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
