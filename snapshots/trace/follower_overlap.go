package trace

// mostOff is by how many microseconds PyTorch may work out the same event's time
// otherwise in a later snapshot, when the clock of the machine is being set meanwhile.
const mostOff = 2_000

// known returns how many of the window's first events the device has had.
func (w *opened) known(d *followed) int {
	last := &d.window
	if len(last.keys) == 0 || len(w.keys) == 0 {
		return 0
	}
	fits := w.rise(d)
	best, off := 0, int64(mostOff)
	borders := borders(w.keys)
	for k := overlap(last.keys, w.keys, borders); k > 0; k = int(borders[k-1]) {
		if !w.timed || last.time == 0 {
			if best == 0 {
				best = k // unless one fits better
			}
			if fits(k) {
				return k
			}
			continue
		}
		if o := max(w.events[k-1].Time-last.time, last.time-w.events[k-1].Time); o < off {
			best, off = k, o
		}
	}
	return best
}

// rise returns a function that says whether the bytes alive are those of the final
// state when the window's first k events are known.
func (w *opened) rise(d *followed) func(k int) bool {
	var now, then int64
	for _, t := range d.memory.live() {
		now += t.LiveRequested()
	}
	eachLive(&w.final, func(b *Block) { then += b.LiveRequested() })
	sums := make([]int64, len(w.events)+1)
	for i := range w.events {
		sums[i+1] = sums[i]
		switch e := &w.events[i]; {
		case e.Kind == Alloc:
			sums[i+1] += e.Size
		case e.Kind.Closes():
			sums[i+1] -= e.Size
		}
	}
	return func(k int) bool { return now+sums[len(w.events)]-sums[k] == then }
}

// borders returns, for each beginning of a list, how long the longest shorter one is
// that it also ends with (Knuth, Morris, Pratt).
func borders(keys []uint64) []int32 {
	b := make([]int32, len(keys))
	for i := 1; i < len(keys); i++ {
		k := b[i-1]
		for k > 0 && keys[k] != keys[i] {
			k = b[k-1]
		}
		if keys[k] == keys[i] {
			k++
		}
		b[i] = k
	}
	return b
}

// overlap returns how long the longest beginning of next is that last ends with.
func overlap(last, next []uint64, borders []int32) int {
	k := 0
	for _, key := range last {
		for k > 0 && (k == len(next) || next[k] != key) {
			k = int(borders[k-1])
		}
		if next[k] == key {
			k++
		}
	}
	return k
}
