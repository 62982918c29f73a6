package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/ranks"
)

// Iteration is a folder with the snapshots of a job's ranks at one moment.
type Iteration struct {
	Path          string `json:"path"`
	Rank          int    `json:"rank"`                 // with the highest peak
	PeakAllocated int64  `json:"peak_allocated_bytes"` // of that rank, 0 if not known
	Growth        *int64 `json:"growth_bytes"`         // of its peak since the iteration before, null if not known
	first, now    *ranks.Row
}

// SetIterations adds the iterations of a job, of which there are several. The report is
// about the last of them.
func (r *Ranks) SetIterations(all [][]ranks.Row) {
	for i, rows := range all {
		now := slices.MaxFunc(pointers(rows), func(a, b *ranks.Row) int { return cmp.Compare(a.PeakAllocated, b.PeakAllocated) })
		it := Iteration{filepath.Dir(now.Name), now.Rank.Rank, now.PeakAllocated, nil, earlier(all[0], now), now}
		if before := earlier(all[max(i-1, 0)], now); i > 0 && before != nil {
			growth := now.PeakAllocated - before.PeakAllocated
			it.Growth = &growth
		}
		r.Iterations = append(r.Iterations, it)
	}
}

// earlier returns the row of a rank in an earlier iteration, nil if a peak is not known.
func earlier(rows []ranks.Row, now *ranks.Row) *ranks.Row {
	for i := range rows {
		if before := &rows[i]; before.Rank.Rank == now.Rank.Rank && now.Rank.Rank != ranks.Unranked && min(before.PeakAllocated, now.PeakAllocated) > 0 {
			return before
		}
	}
	return nil
}

// iterations writes a row for each iteration, and how to look at one rank's growth.
func (r *Ranks) iterations(p *page) {
	if len(r.Iterations) == 0 {
		return
	}
	p.line("")
	p.line("%15s%6s%12s  %s", "HIGHEST PEAK", "RANK", "ITS GROWTH", "FOLDER")
	for i := range r.Iterations {
		it, growth := &r.Iterations[i], "-"
		if it.Growth != nil {
			growth = signed(*it.Growth)
		}
		p.line("%15s%6s%12s  %s", allocatedText(it.PeakAllocated), rankText(it.now), growth, it.Path)
	}
	if last := &r.Iterations[len(r.Iterations)-1]; last.first != nil {
		p.line("")
		p.line("  What rank %d has more in the last than in the first:", last.Rank)
		fmt.Fprintf(p.w, "  memtop diff %s %s --at peak\n", last.first.Name, last.now.Name) // whole, so that it can be copied
	}
}

func pointers(rows []ranks.Row) (all []*ranks.Row) {
	for i := range rows {
		all = append(all, &rows[i])
	}
	return all
}
