package analysis

import "memtop/snapshots/trace"

// keyed is an allocation and what it is sorted by.
type keyed struct {
	key uint64
	id  trace.AllocationID
}

// sortByKey sorts by key, the smallest first, and keeps the order of equal
// ones. It counts byte by byte and skips bytes that are all the same: tens of
// thousands of live allocations are sorted in less time than a comparison sort
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

// aliveKeyed returns what is held right after an event with the keys that key
// gives.
func (x *Index) aliveKeyed(at int, key func(id trace.AllocationID) uint64) []keyed {
	items := make([]keyed, 0, 1024)
	x.life.Alive(at, func(id trace.AllocationID) bool {
		items = append(items, keyed{key(id), id})
		return true
	})
	return items
}

// allocations looks the sorted ones up, as they were right after an event.
func (x *Index) allocations(items []keyed, at int) []trace.Allocation {
	all := make([]trace.Allocation, len(items))
	for i := range items {
		all[i] = x.life.AllocationAt(items[i].id, at)
	}
	return all
}

// aliveByAddress returns what is held right after an event, by address.
func (x *Index) aliveByAddress(at int) []trace.Allocation {
	return x.allocations(sortByKey(x.aliveKeyed(at, func(id trace.AllocationID) uint64 {
		if k, held := id.Held(); held {
			return x.life.Held[k].Addr
		}
		return x.events.At(int(id)).Addr
	})), at)
}

// aliveBySize returns the ids of what is held right after an event, the
// largest first and among equals the oldest.
func (x *Index) aliveBySize(at int) []keyed {
	items := sortByKey(x.aliveKeyed(at, func(id trace.AllocationID) uint64 {
		if k, held := id.Held(); held {
			return uint64(k)
		}
		return uint64(len(x.life.Held)) + uint64(id)
	}))
	for i := range items {
		items[i].key = ^uint64(x.sizeOf(items[i].id))
	}
	return sortByKey(items)
}
