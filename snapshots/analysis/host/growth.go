package host

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
)

// leastRise is how much a row must rise to be more than noise, and leastShare which
// part of what the program has. Each worker may rise by so much: after a fork it makes
// a heap of its own.
const (
	leastRise  = 16 << 20
	leastShare = 100
	// What lies free between blocks may be that part of what the program has. A program
	// that kept 6 MiB in small tensors, while the larger ones of a step became four times
	// as long, got 18 MiB of holes, evenly over 2,000 steps.
	leastFreedShare = 4
)

// Growth is a row that grows from step to step.
type Growth struct {
	Row
	leak.Verdict       // of the row, if its own figures rise evenly, else of what it is a part of
	InAll        int64 // bytes per step by which what it is a part of rises, holes between blocks and the like included
	StepsLeft    int64 // until the limit is reached, -1 if no limit is known
	Of           trace.Limit
	Keeper       string // the container that holds what grows, with its line; "" if none is known
}

// # Whose growth it is
//
// The kernel's numbers are of one moment; what allocators and looks say is older. So
// the program's anonymous memory is judged as one, and then named after the kind that
// has risen most. Kinds with a number of their own are judged alone: they may grow
// while the sum is noise.

// Growing returns what grows in the gauges of a device, the fastest first. Memory of
// files, of other processes and of the kernel is left out: most of the latter is names
// of files that were opened, which it drops when it needs memory.
func Growing(gauges []trace.Gauge, device int) []Growth {
	s := seriesOf(gauges, device)
	if s.last == nil {
		return nil
	}
	l := Of(s.last.Host)
	whole := s.whole[len(s.whole)-1].Bytes
	var found []Growth
	add := func(v leak.Verdict, name func(steps int64) Kind) bool {
		if v.Trend == leak.Suspected {
			k := name(int64(v.Steps))
			if k == Freed && v.GrowthPerStep*int64(v.Steps) < whole/leastFreedShare {
				return true
			}
			own := leak.OfLevels(s.of[k], s.least(k))
			if own.Trend != leak.Suspected {
				own = v
				if by := perStepOfLooks(s.of[k], s.last.Host.Step-int64(v.Steps)); k == Tensors && by > 0 {
					own.GrowthPerStep = min(by, own.GrowthPerStep)
				}
			}
			found = append(found, grownBy(s.last, l, k, own, v.GrowthPerStep))
		}
		return v.Trend == leak.Suspected
	}
	anonymous := add(s.ofAnonymous(), s.risenMost)
	for _, k := range []Kind{Pinned, Python, Workers, Batches, Shared, Left} {
		if !anonymous || k > lastAnonymous {
			add(leak.OfLevels(s.of[k], s.least(k)), func(int64) Kind { return k })
		}
	}
	slices.SortFunc(found, func(a, b Growth) int { return cmp.Compare(b.GrowthPerStep, a.GrowthPerStep) })
	return found
}

// perStepOfLooks returns by how much levels that are as of the last look rise in a
// step, from the look that was the last one at a step on.
func perStepOfLooks(levels []leak.Level, from int64) int64 {
	look := func(i int) leak.Level {
		for i > 0 && levels[i-1].Bytes == levels[i].Bytes {
			i--
		}
		return levels[i]
	}
	first := look(slices.IndexFunc(levels, func(l leak.Level) bool { return l.Step >= from }))
	last := look(len(levels) - 1)
	return (last.Bytes - first.Bytes) / max(1, last.Step-first.Step)
}

// grownBy completes a verdict on a row.
func grownBy(last *trace.Gauge, l Ledger, k Kind, v leak.Verdict, inAll int64) Growth {
	g := Growth{Row: Row{Kind: k, Name: k.String()}, Verdict: v, InAll: inAll, StepsLeft: -1}
	if at := slices.IndexFunc(l.Rows, func(r Row) bool { return r.Kind == k }); at >= 0 {
		g.Row = l.Rows[at]
	}
	if limit, known := last.Nearest(); known {
		g.Of, g.StepsLeft = limit, limit.Left()/max(1, inAll)
	}
	if k <= lastAnonymous || k == Shared {
		g.Keeper = keeper(last.Host, v.GrowthPerStep*int64(v.Steps))
	}
	return g
}

// series is the past of the ledgers.
type series struct {
	of        [kinds][]leak.Level
	anonymous []leak.Level // of the program itself
	whole     []leak.Level // of all that counts
	writable  []leak.Level // memory of the program itself, resident or not
	last      *trace.Gauge // nil if there is no ledger
}

// least returns by how many bytes a kind must rise to be more than noise.
func (s *series) least(k Kind) int64 {
	least := max(leastRise, s.whole[len(s.whole)-1].Bytes/leastShare)
	if k == Workers {
		return max(least, leastRise*int64(s.last.Host.Workers))
	}
	return least
}

// ofAnonymous judges the program's anonymous memory. A table that was allocated once
// becomes resident row by row; so what rises is at most what is allocated meanwhile.
func (s *series) ofAnonymous() leak.Verdict {
	least := s.least(Native)
	v := leak.OfLevels(s.anonymous, least)
	if v.Trend == leak.Suspected && s.last.Host.Writable > 0 {
		steps := int64(v.Steps)
		v.GrowthPerStep = min(v.GrowthPerStep, leak.SlopeSince(s.writable, s.last.Host.Step-steps))
		if v.GrowthPerStep*steps < least {
			v.Trend = leak.Growing
		}
	}
	return v
}

// risenMost returns the kind of the program's anonymous memory that has risen most in
// the last steps. What malloc keeps lies between what is not freed, so it counts half. A
// pool of pinned memory may be made of malloc's blocks, which then count as both.
func (s *series) risenMost(steps int64) Kind {
	most, by := Native, int64(0)
	for k := range lastAnonymous + 1 {
		up := rise(s.of[k], steps)
		if k == Native {
			up = min(up, rise(s.anonymous, steps)-rise(s.of[Pinned], steps))
		}
		if k == Freed {
			up /= 2
		}
		if up > by {
			most, by = k, up
		}
	}
	return most
}

// rise returns by how many bytes levels have risen in the last steps.
func rise(levels []leak.Level, steps int64) int64 {
	last := levels[len(levels)-1]
	first := slices.IndexFunc(levels, func(l leak.Level) bool { return l.Step >= last.Step-steps })
	return last.Bytes - levels[first].Bytes
}

// keeper names the growing container that holds most, if it holds at least half of what
// memory has risen by.
func keeper(h *trace.Host, rise int64) string {
	most := trace.Kept{}
	for _, k := range h.Kept {
		if k.Bytes > most.Bytes {
			most = k
		}
	}
	if 2*most.Bytes < rise {
		return ""
	}
	return trace.Printable(most.Name)
}

// PerStep returns by how many bytes the program's memory on the host rises in a step,
// without what [Growing] leaves out, and over how many steps; 0 steps if the gauges do
// not tell.
func PerStep(gauges []trace.Gauge, device int) (bytes, steps int64) {
	return leak.RisePerStep(seriesOf(gauges, device).whole)
}

func seriesOf(gauges []trace.Gauge, device int) (s series) {
	for i := range gauges {
		g := &gauges[i]
		if g.Device != device || g.Host == nil || s.last != nil && g.Host.Step < s.last.Host.Step {
			continue
		}
		s.last = g
		var bytes [kinds]int64
		anonymous, whole := int64(0), int64(0)
		for _, r := range Of(g.Host).Rows {
			bytes[r.Kind] = r.Bytes
			if r.Kind <= lastAnonymous {
				anonymous += r.Bytes
			}
			if r.Kind.Own() && r.Kind != Unexplained {
				whole += r.Bytes
			}
		}
		at := func(bytes int64) leak.Level { return leak.Level{Step: g.Host.Step, Bytes: bytes} }
		for k := range kinds {
			if k != Workers || g.Host.Workers == 0 || bytes[k] > 0 { // else their page tables were not read yet
				s.of[k] = append(s.of[k], leak.Level{Step: asOf(g.Host, k), Bytes: bytes[k]})
			}
		}
		s.anonymous, s.whole = append(s.anonymous, at(anonymous)), append(s.whole, at(whole))
		s.writable = append(s.writable, at(g.Host.Writable))
	}
	return s
}

// asOf returns the step that a row is of: the kernel's figures are of the moment, those
// of allocators and lists of files may be older.
func asOf(h *trace.Host, k Kind) int64 {
	switch {
	case k == Python || k == Native || k == Freed:
		return cmp.Or(h.Asked, h.Step)
	case k == Batches || k == Left || k == Shared && shares(h) > h.Shared+h.WorkersShared:
		return cmp.Or(h.Listed, h.Asked, h.Step)
	}
	return h.Step
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
		Batches: "Workers make batches faster than they are taken: prefetch_factor or num_workers is too large",
		Shared:  "Shared tensors are kept, such as batches of a loader's workers, or something maps shared memory and does not unmap it",
		Left:    "Processes that were killed left their shared tensors; delete the files when nobody uses them",
	}[k]
}
