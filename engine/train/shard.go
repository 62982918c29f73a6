package train

import (
	"fmt"

	"memtop/engine/choice"
	"memtop/engine/tensor"
)

// Shard says what the processes of a run divide among them instead of having it
// each: the stages of ZeRO (Rajbhandari et al. 2020). Each has what those before it
// have.
type Shard uint8

// The stages.
const (
	ShardNothing    Shard = iota
	ShardOptimizer        // the optimizer's state: stage 1
	ShardGradients        // and gradients, once a backward pass has completed them: stage 2
	ShardParameters       // and parameters, but for the modules under way: stage 3
	shardCount
)

var shardNames = [shardCount]string{"none", "optimizer", "gradients", "parameters"}

// String returns "none", "optimizer", "gradients" or "parameters".
func (s Shard) String() string {
	if s >= shardCount {
		return fmt.Sprintf("Shard(%d)", uint8(s))
	}
	return shardNames[s]
}

// Shards returns every stage.
func Shards() []Shard { return []Shard{ShardNothing, ShardOptimizer, ShardGradients, ShardParameters} }

// ParseShard is the inverse of Shard.String.
func ParseShard(name string) (Shard, error) {
	if s, ok := choice.Find(Shards(), name); ok {
		return s, nil
	}
	return 0, fmt.Errorf("shard %q: want %s", name, choice.Or(Shards()))
}

// Sharding is how many processes a run has, and what they divide. The zero value is
// one process.
type Sharding struct {
	Shard Shard
	Ranks int
}

// homes are where a run keeps what it has.
type homes struct {
	device *tensor.Device
	shard  Shard
	shared *tensor.Device // what is divided, if anything is
}

func (s Sharding) homes(d *tensor.Device) homes {
	if s.Ranks < 2 {
		s.Shard = ShardNothing
	}
	h := homes{device: d, shard: s.Shard}
	if h.shard != ShardNothing {
		h.shared = d.Shared(s.Ranks)
	}
	return h
}

// of is where something lives that may be offloaded, and that is divided from a
// stage on.
func (h homes) of(offloaded bool, from Shard) *tensor.Device {
	switch {
	case offloaded:
		return h.device.Host()
	case h.shard >= from:
		return h.shared
	}
	return h.device
}
