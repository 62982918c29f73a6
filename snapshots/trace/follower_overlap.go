package trace

// mostOff is how many microseconds the time of one event may differ between two
// snapshots. PyTorch computes the times anew for each snapshot, and the machine's
// clock may be set meanwhile.
const mostOff = 2_000

// known returns how many of the window's first events the device has already had.
// Without times it is the longest overlap that fits. With times it is the overlap
// whose last event is nearest in time to the last event of the window before.
func (w *opened) known(d *followed) int {
	last := &d.window
	if len(last.keys) == 0 || len(w.keys) == 0 {
		return 0
	}
	borders := borders(w.keys)
	longest := overlap(last.keys, w.keys, borders)
	if !w.timed || last.time == 0 {
		return longest
	}
	best, off := 0, int64(mostOff)
	for k := longest; k > 0; k = int(borders[k-1]) {
		time := w.device.Events.At(k - 1).Time
		if o := max(time-last.time, last.time-time); o < off {
			best, off = k, o
		}
	}
	return best
}

// borders returns, for each prefix of a list, the length of its longest proper
// prefix that is also its suffix (Knuth, Morris, Pratt).
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

// overlap returns the length of the longest prefix of next that is a suffix of
// last.
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
