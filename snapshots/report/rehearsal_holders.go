package report

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
)

// Grows is the memory of a line that each step adds to.
type Grows struct {
	Line     string `json:"line"` // "file:line function"
	Keeper   string `json:"keeper"`
	Category string `json:"kind"`
	PerStep  int64  `json:"bytes_per_step"`
	FullAt   int64  `json:"full_at_step"` // when this growth alone fills the GPU
}

// growth returns what grows with each step of a program on a GPU of so many bytes.
func (on *RehearsedOn) growth(total int64) []Grows {
	all := make([]Grows, 0)
	var held []analysis.Held // at the end, of which all growth is
	for i := range on.device.found {
		f := &on.device.found[i]
		if f.Kind != analysis.GrowthFinding || f.PerStep <= 0 {
			continue
		}
		g := Grows{Line: on.index.StackName(f.Where.Stack), PerStep: f.PerStep, FullAt: int64(on.Steps) + (total-on.Full())/f.PerStep}
		if held == nil {
			held = on.index.HeldAt(f.Where.Event)
		}
		if at := slices.IndexFunc(held, func(h analysis.Held) bool { return h.Line == g.Line }); at >= 0 {
			g.Keeper, g.Category = held[at].Keeper, held[at].Category
		}
		all = append(all, g)
	}
	return all
}
