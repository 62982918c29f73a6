package report

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/difference"
	"github.com/memtop/memtop/snapshots/trace"
)

// compareStacks lists the stacks whose memory changed, the largest change first.
func compareStacks(merged *difference.Merged, before, after difference.Side) []StackDiff {
	type pair struct {
		sides [2]analysis.Holder
		owner *analysis.Index
		stack trace.StackID
	}
	pairs := make(map[trace.StackID]*pair)
	for side, h := range [2][]analysis.Holder{before.Index.HoldersAt(before.At), after.Index.HoldersAt(after.At)} {
		for _, holder := range h {
			key := trace.StackID(0) // held from before, by unknown stacks
			if holder.Stack != 0 {
				key = merged.Stack(side, holder.Stack)
			}
			p := pairs[key]
			if p == nil {
				p = &pair{owner: [2]*analysis.Index{before.Index, after.Index}[side], stack: holder.Stack}
				pairs[key] = p
			}
			p.sides[side] = holder
		}
	}
	changed := []StackDiff{}
	for _, p := range pairs {
		before, after := &p.sides[0], &p.sides[1]
		change, ok := changeOf(before.Bytes, after.Bytes)
		if !ok && before.Count == after.Count {
			continue
		}
		changed = append(changed, StackDiff{
			change, p.owner.HolderName(analysis.Holder{Stack: p.stack}), p.owner.Frames(p.stack), Sides{before.Bytes, after.Bytes, before.Count, after.Count},
		})
	}
	slices.SortFunc(changed, func(a, b StackDiff) int {
		return cmp.Or(cmp.Compare(magnitude(b.Delta()), magnitude(a.Delta())), cmp.Compare(a.Name, b.Name), slices.Compare(a.Frames, b.Frames))
	})
	return changed
}

func magnitude(n int64) int64 { return max(n, -n) }
