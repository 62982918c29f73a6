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
	events := w.device.Events
	var fits func(k int) bool
	best, off := 0, int64(mostOff)
	borders := borders(w.keys)
	for k := overlap(last.keys, w.keys, borders); k > 0; k = int(borders[k-1]) {
		if !w.timed || last.time == 0 {
			if best == 0 {
				best, fits = k, w.rise(d) // unless one fits better
			}
			if fits(k) {
				return k
			}
			continue
		}
		time := events.At(k - 1).Time
		if o := max(time-last.time, last.time-time); o < off {
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
	sums, sum := make([]int64, 1, len(w.keys)+1), int64(0)
	w.each(0, func(e *Event) {
		switch {
		case e.Kind == Alloc:
			sum += e.Size
		case e.Kind.Closes():
			sum -= e.Size
		}
		sums = append(sums, sum)
	})
	return func(k int) bool { return now+sum-sums[k] == then }
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
