package host

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
)

// leastRise is how much a row must rise to be more than noise, and leastShare which
// part of the whole.
const (
	leastRise  = 16 << 20
	leastShare = 100
)

// Growth is a row that grows from step to step.
type Growth struct {
	Row
	leak.Verdict
	StepsLeft int64 // until the limit is reached, -1 if no limit is known
	Of        Limit
}

// Growing returns the rows that grow in the gauges of a device, the fastest first.
// Memory of files and of other processes is left out.
func Growing(gauges []trace.Gauge, device int) []Growth {
	var levels [kinds][]leak.Level
	var last *trace.Gauge
	var l Ledger
	for i := range gauges {
		g := &gauges[i]
		if g.Device != device || g.Host == nil || last != nil && g.Host.Step < last.Host.Step {
			continue
		}
		last, l = g, Of(g.Host)
		var bytes [kinds]int64
		for _, r := range l.Rows {
			bytes[r.Kind] = r.Bytes
		}
		for k := range kinds {
			levels[k] = append(levels[k], leak.Level{Step: g.Host.Step, Bytes: bytes[k]})
		}
	}
	if last == nil {
		return nil
	}
	var found []Growth
	for k := range kinds {
		if k.Droppable() || k == Others || k == Unexplained {
			continue
		}
		v := leak.OfLevels(levels[k], max(leastRise, l.Bytes/leastShare))
		if v.Trend != leak.Suspected {
			continue
		}
		at := slices.IndexFunc(l.Rows, func(r Row) bool { return r.Kind == k })
		if at < 0 {
			continue
		}
		grown := Growth{Row: l.Rows[at], Verdict: v, StepsLeft: -1}
		if limit, known := LimitOf(last); known {
			grown.Of, grown.StepsLeft = limit, limit.Left()/max(1, v.GrowthPerStep)
		}
		found = append(found, grown)
	}
	slices.SortFunc(found, func(a, b Growth) int { return cmp.Compare(b.GrowthPerStep, a.GrowthPerStep) })
	return found
}

// Remedy says where to look if memory of a kind grows, in a sentence.
func (k Kind) Remedy() string {
	return [kinds]string{
		Tensors: "Something keeps tensors on the CPU, such as a list of batches",
		Pinned:  "Pinned tensors are kept, or each has another size: PyTorch's pool keeps each size that it ever had",
		Python:  "Python keeps ever more small objects: look for a dict or list that is only added to",
		Native: "C code allocates and does not free, or Python keeps objects of more than 512 bytes: long strings, bytes, arrays, " +
			"the tables of large dicts and lists",
		Freed:   "malloc keeps what was freed: blocks of different lives lie side by side. MALLOC_ARENA_MAX=2 or another malloc makes it less",
		Mapped:  "Something maps memory and does not unmap it",
		Workers: "A dataset or its loader keeps what it has read: look for lists and caches in the dataset",
		Shared:  "Shared tensors are kept, such as batches of a loader's workers, or something maps shared memory and does not unmap it",
		Left:    "Processes that were killed left their shared tensors; delete the files when nobody uses them",
		Kernel:  "The kernel's own: many small mappings, threads, open files or sockets",
	}[k]
}
