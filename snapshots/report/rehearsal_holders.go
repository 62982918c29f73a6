package report

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
)

// Held is the memory of a line that is for one thing and that one keeper keeps.
type Held struct {
	Line     string `json:"line"` // "file:line function"
	Category string `json:"category"`
	Bytes    int64  `json:"bytes"`
	Count    int    `json:"count"`
	Keeper   string `json:"keeper"` // the variable, container or graph that keeps it, "" if none is known
}

// heldAt returns the largest holders right after an event.
func heldAt(x *analysis.Index, event int) []Held {
	all := make([]Held, 0)
	place := make(map[Held]int)
	for _, h := range x.HeldAt(event) {
		held := Held{Line: x.StackName(h.Stack), Category: h.Category.String(), Keeper: h.Keeper}
		at, known := place[held]
		switch {
		case known:
			all[at].Bytes, all[at].Count = all[at].Bytes+h.Bytes, all[at].Count+h.Count
		case len(all) < reportedStacks:
			place[held] = len(all)
			held.Bytes, held.Count = h.Bytes, h.Count
			all = append(all, held)
		}
	}
	slices.SortStableFunc(all, func(a, b Held) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all
}

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
	for i := range on.device.found {
		f := &on.device.found[i]
		if f.Kind != analysis.GrowthFinding || f.PerStep <= 0 {
			continue
		}
		g := Grows{Line: on.index.StackName(f.Where.Stack), PerStep: f.PerStep, FullAt: int64(on.Steps) + (total-on.Full())/f.PerStep}
		for _, h := range on.index.HeldAt(f.Where.Event) {
			if h.Stack == f.Where.Stack {
				g.Keeper, g.Category = h.Keeper, h.Category.String()
				break
			}
		}
		all = append(all, g)
	}
	return all
}
