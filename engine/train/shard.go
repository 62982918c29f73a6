package train

import (
	"fmt"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/choice"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/tensor"
)

// Shard says which tensors the processes of a run divide among them, instead of
// each process having them all. Its values are the stages of ZeRO (Rajbhandari et
// al. 2020); each stage includes the stages before it.
type Shard uint8

// The stages.
const (
	ShardNothing    Shard = iota
	ShardOptimizer        // the optimizer's state: stage 1
	ShardGradients        // and gradients, once a backward pass has completed them: stage 2
	ShardParameters       // and parameters, but for the modules under way: stage 3
	shardCount
)

// String returns "none", "optimizer", "gradients" or "parameters".
func (s Shard) String() string { return [...]string{"none", "optimizer", "gradients", "parameters"}[s] }

// Shards returns every stage.
func Shards() []Shard { return []Shard{ShardNothing, ShardOptimizer, ShardGradients, ShardParameters} }

// ParseShard is the inverse of Shard.String.
func ParseShard(name string) (Shard, error) {
	return choice.Parse("shard", Shards(), name)
}

// shardable fails if the settings divide something and there is no group.
func (s *Settings) shardable(g collective.Group) error {
	if s.Shard != ShardNothing && g == nil {
		return fmt.Errorf("shard=%v: there is one process, and none to divide it with", s.Shard)
	}
	return nil
}

// homes says on which devices a run keeps its tensors.
type homes struct {
	device *tensor.Device
	group  collective.Group // nil for one process
	shard  Shard
	state  bool // of the optimizer is offloaded
	// computes has the parameters that only layers on the host read.
	computes map[*autograd.Variable]bool
}

// homes are those of the settings.
func (t *Trainer) homes(s *Settings) homes {
	return homes{t.config.Device, t.config.Group, s.Shard, s.Offload.Optimizer, s.Host.owns(t.config.Model)}
}

// ofState returns the device of the optimizer's state of a parameter.
func (h homes) ofState(p *autograd.Variable) *tensor.Device {
	return h.of(h.state || h.computes[p], ShardOptimizer)
}

// of returns the device of tensors that may be offloaded, and that are divided
// from a stage on.
func (h homes) of(offloaded bool, from Shard) *tensor.Device {
	switch {
	case offloaded:
		return h.device.Host()
	case h.group != nil && h.shard >= from:
		return h.device.Shared(h.group)
	}
	return h.device
}

// Home returns the device on which to make a model's parameters, so that they
// begin where they will live. A model that is larger than d fits on its host, or
// on the devices of a group. Home fails, as tensors do, if the host cannot be
// reached.
func (s *Settings) Home(d *tensor.Device, g collective.Group) *tensor.Device {
	return homes{device: d, group: g, shard: s.Shard}.of(s.Offload.Parameters != "" || s.Host != "", ShardParameters)
}
