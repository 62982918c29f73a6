package analysis

import (
	"slices"
	"sort"
)

// addressed is something that begins at an address.
type addressed interface{ address() uint64 }

// runs is an ordered list of things by address, in short runs, so that
// inserting one moves few others however many there are.
type runs[T addressed] struct {
	list [][]T // none is empty
}

// place is a position in runs. Inserting and deleting make others invalid.
type place struct{ run, at int }

const (
	runFill  = 128 // of a run that is made whole
	runLimit = 256
)

// runsOf copies items, which are in order.
func runsOf[T addressed](items []T) *runs[T] {
	r := &runs[T]{}
	for part := range slices.Chunk(items, runFill) {
		r.list = append(r.list, append(make([]T, 0, runLimit), part...))
	}
	return r
}

// flat returns a copy of all items.
func (r *runs[T]) flat() []T { return slices.Concat(r.list...) }

// find returns where an address is, or where it would be inserted.
func (r *runs[T]) find(addr uint64) (place, bool) {
	if len(r.list) == 0 {
		return place{}, false
	}
	run := max(0, sort.Search(len(r.list), func(i int) bool { return r.list[i][0].address() > addr })-1)
	items := r.list[run]
	low, high := 0, len(items)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if items[middle].address() < addr {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return place{run, low}, low < len(items) && items[low].address() == addr
}

// at returns the item at a place or the next one after it, nil at the end.
func (r *runs[T]) at(p place) *T {
	switch {
	case p.run < len(r.list) && p.at < len(r.list[p.run]):
		return &r.list[p.run][p.at]
	case p.run+1 < len(r.list):
		return &r.list[p.run+1][0]
	default:
		return nil
	}
}

// before returns the item before a place and where it is, nil at the start.
func (r *runs[T]) before(p place) (*T, place) {
	switch {
	case p.at > 0:
		p.at--
	case p.run > 0:
		p.run--
		p.at = len(r.list[p.run]) - 1
	default:
		return nil, p
	}
	return &r.list[p.run][p.at], p
}

// insert puts an item at the place that find gave for it.
func (r *runs[T]) insert(p place, item T) {
	if len(r.list) == 0 {
		r.list = append(r.list, append(make([]T, 0, runLimit), item))
		return
	}
	items := slices.Insert(r.list[p.run], p.at, item)
	r.list[p.run] = items
	if len(items) >= runLimit {
		tail := append(make([]T, 0, runLimit), items[runFill:]...)
		r.list[p.run] = items[:runFill]
		r.list = slices.Insert(r.list, p.run+1, tail)
	}
}

// delete removes the item that is at a place.
func (r *runs[T]) delete(p place) {
	r.list[p.run] = slices.Delete(r.list[p.run], p.at, p.at+1)
	if len(r.list[p.run]) == 0 {
		r.list = slices.Delete(r.list, p.run, p.run+1)
	}
}
