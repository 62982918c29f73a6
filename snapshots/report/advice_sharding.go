package report

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// ShardingAdvice is a stage of sharding: state that several processes divide
// instead of each holding all of it. It is computed from the measured memory of
// one process.
type ShardingAdvice struct {
	Change    map[string]string `json:"change"`
	Ranks     int               `json:"ranks"`
	Predicted struct {
		PeakAllocated int64 `json:"peak_allocated_bytes"`
	} `json:"predicted"`
	Why string `json:"why"`

	name string
}

// stages are the kinds of divided state. Each stage includes the earlier ones.
var stages = []struct {
	name     string
	category trace.Category
}{{"optimizer", trace.Optimizer}, {"gradients", trace.Gradient}, {"parameters", trace.Parameter}}

// AddSharding adds how much each of n processes would free at its peak. It adds
// nothing if the optimizer holds no more than the parameters: that state may be
// divided already.
func (r *Advice) AddSharding(step *trace.Step, ranks int) {
	held := trace.ByCategory(step.AtPeak)
	if ranks < 2 || held[trace.Optimizer] <= held[trace.Parameter] {
		return
	}
	saved := int64(0)
	for _, stage := range stages {
		n := held[stage.category]
		if saved += n - (n+int64(ranks)-1)/int64(ranks); n == 0 {
			continue
		}
		add := ShardingAdvice{
			Change: map[string]string{"shard": stage.name}, Ranks: ranks, name: "shard=" + stage.name,
			Why: fmt.Sprintf("arithmetic on what this rank held at its peak, no rehearsal: of %s in %s each of %d ranks keeps its part, if the run divides nothing yet",
				quantity.Bytes(n), stage.name, ranks),
		}
		add.Predicted.PeakAllocated = -saved
		r.Sharding = append(r.Sharding, add)
	}
}

// sharding writes the sharding stages.
func (r *Advice) sharding(p *page) {
	if len(r.Sharding) == 0 {
		return
	}
	p.wrap("sharding: ", fmt.Sprintf("what each of the %d ranks would free, each stage with those before it, if the run divides nothing yet: arithmetic on what this one holds at its peak, no rehearsal",
		r.Sharding[0].Ranks))
	for i := range r.Sharding {
		o := &r.Sharding[i]
		p.line("  %-30s %11s %6s", o.name, "-"+quantity.Bytes(-o.Predicted.PeakAllocated), proposals.ShareText(o.Predicted.PeakAllocated, r.PeakAllocated))
	}
}
