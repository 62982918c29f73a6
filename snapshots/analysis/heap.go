package analysis

// maxHeap is a binary heap of items, the one with the largest key first.
type maxHeap[T any] struct {
	keys  []int64
	items []T
}

func (h *maxHeap[T]) len() int { return len(h.keys) }

func (h *maxHeap[T]) swap(i, j int) {
	h.keys[i], h.keys[j] = h.keys[j], h.keys[i]
	h.items[i], h.items[j] = h.items[j], h.items[i]
}

func (h *maxHeap[T]) push(key int64, item T) {
	h.keys = append(h.keys, key)
	h.items = append(h.items, item)
	for at := len(h.keys) - 1; at > 0; {
		up := (at - 1) / 2
		if h.keys[up] >= h.keys[at] {
			return
		}
		h.swap(up, at)
		at = up
	}
}

func (h *maxHeap[T]) pop() (int64, T) {
	key, item := h.keys[0], h.items[0]
	last := len(h.keys) - 1
	h.swap(0, last)
	h.keys, h.items = h.keys[:last], h.items[:last]
	for at := 0; ; {
		down := 2*at + 1
		if down >= last {
			return key, item
		}
		if down+1 < last && h.keys[down+1] > h.keys[down] {
			down++
		}
		if h.keys[at] >= h.keys[down] {
			return key, item
		}
		h.swap(at, down)
		at = down
	}
}
