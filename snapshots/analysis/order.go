package analysis

import "github.com/memtop/memtop/snapshots/trace"

// keyed is a position in a list and its sort key.
type keyed struct {
	key uint64
	at  int32
}

// sortByKey sorts by key, the smallest first, and keeps the order of equal ones.
// It is a radix sort by bytes, and skips bytes that are the same in all keys. It
// sorts tens of thousands of live allocations in less time than a comparison sort
// takes for a tenth of them.
func sortByKey(items []keyed) []keyed {
	const buckets = 256
	var counts [8][buckets]int32
	for i := range items {
		key := items[i].key
		for b := range counts {
			counts[b][byte(key>>(8*b))]++
		}
	}
	spare := make([]keyed, len(items))
	for b := range counts {
		count := &counts[b]
		if len(items) == 0 || int(count[byte(items[0].key>>(8*b))]) == len(items) {
			continue
		}
		var at int32
		for v := range count {
			at, count[v] = at+count[v], at
		}
		for i := range items {
			v := byte(items[i].key >> (8 * b))
			spare[count[v]] = items[i]
			count[v]++
		}
		items, spare = spare, items
	}
	return items
}

// alive returns the live allocations right after an event, the oldest first:
// those from before recording, then the others in the order in which they were
// made. Callers must not change the result: at the end of the trace, where a page
// that follows the program looks, all callers share it.
func (x *mapper) alive(at int) []trace.Allocation {
	if at < x.End() {
		return x.aliveAt(at)
	}
	return x.live.get(x, func([]trace.Allocation) []trace.Allocation { return x.aliveAt(at) })
}

// sorted returns allocations by key, the smallest first, and keeps the order
// of equal ones.
func sorted(all []trace.Allocation, key func(a *trace.Allocation) uint64) []trace.Allocation {
	items := make([]keyed, len(all))
	for i := range all {
		items[i] = keyed{key(&all[i]), int32(i)}
	}
	out := make([]trace.Allocation, len(all))
	for i, item := range sortByKey(items) {
		out[i] = all[item.at]
	}
	return out
}

func byAddress(a *trace.Allocation) uint64 { return a.Addr }

// bySize puts the largest first.
func bySize(a *trace.Allocation) uint64 { return ^uint64(a.Size) }
