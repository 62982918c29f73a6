package report

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/quantity"
)

// Iteration is what the ranks of a job held at one moment of it.
type Iteration struct {
	Path  string           `json:"path"`
	Ranks []IterationRank  `json:"ranks"`
	Grown *IterationGrowth `json:"grown"` // since the iteration before, null if not known
	of    *ranks.Iteration
}

// IterationRank is a rank in an iteration.
type IterationRank struct {
	Rank          int    `json:"rank"` // -1 if not known
	Path          string `json:"path"`
	PeakAllocated int64  `json:"peak_allocated_bytes"` // 0 if not known
	Allocated     int64  `json:"allocated_bytes"`
	Problem       string `json:"problem,omitempty"`
}

// IterationGrowth is the rank whose peak rose most.
type IterationGrowth struct {
	Rank  int   `json:"rank"`
	Bytes int64 `json:"bytes"`
}

// SetIterations adds the iterations of a job. The ranks are as in the last of them.
func (r *Ranks) SetIterations(all []ranks.Iteration) {
	for i := range all {
		it := Iteration{Path: all[i].Path, Ranks: make([]IterationRank, 0), of: &all[i]}
		for j := range all[i].Rows {
			row := &all[i].Rows[j]
			it.Ranks = append(it.Ranks, IterationRank{row.Rank.Rank, row.Name, row.PeakAllocated, row.Allocated, row.Problem})
		}
		if i > 0 {
			if before, after := it.of.Grown(&all[i-1]); after != nil {
				it.Grown = &IterationGrowth{after.Rank.Rank, after.PeakAllocated - before.PeakAllocated}
			}
		}
		r.Iterations = append(r.Iterations, it)
	}
}

// iterations writes a row for each iteration: the highest peak of all ranks, and the rank
// that grew most.
func (r *Ranks) iterations(p *page) {
	if len(r.Iterations) == 0 {
		return
	}
	p.line("")
	p.line("%15s%5s%15s%5s  %s", "HIGHEST PEAK", "RANK", "MOST GROWTH", "RANK", "FOLDER")
	for i := range r.Iterations {
		it := &r.Iterations[i]
		peak, rank, growth, grown := "-", "", "-", ""
		if row := it.of.Highest(); row != nil {
			peak, rank = quantity.Bytes(row.PeakAllocated), rankText(row)
		}
		if it.Grown != nil {
			growth, grown = signed(it.Grown.Bytes), fmt.Sprint(it.Grown.Rank)
		}
		p.line("%15s%5s%15s%5s  %s", peak, rank, growth, grown, it.Path)
	}
	before, after := r.Iterations[len(r.Iterations)-1].of.Grown(r.Iterations[0].of)
	if after == nil {
		return
	}
	p.line("")
	if bytes := after.PeakAllocated - before.PeakAllocated; bytes > 0 {
		p.wrap("  ", fmt.Sprintf("Rank %d grew most from the first to the last, by %s. This says by what:", after.Rank.Rank, quantity.Bytes(bytes)))
	} else {
		p.wrap("  ", "No rank's peak grew from the first to the last. This compares one of them:")
	}
	p.line("")
	p.line("  memtop diff %s %s --at peak", before.Name, after.Name)
}
