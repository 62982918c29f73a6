package ranks

import "slices"

// Headroom is how much of the device's memory the rank's last step and other programs
// left, in bytes: capacity less what others hold less the most that was reserved. It is
// not known, and ok is false, where the capacity is not.
func (r *Row) Headroom() (bytes int64, ok bool) {
	if r.Capacity <= 0 {
		return 0, false
	}
	return r.Capacity - max(r.Others, 0) - max(r.PeakReserved, r.Reserved), true
}

// MedianPeak returns the median of what the ranks allocated at most in their last steps,
// in bytes, the lower of two; 0 where no rank made a step.
func MedianPeak(rows []Row) int64 {
	var peaks []int64
	for i := range rows {
		if rows[i].PeakAllocated > 0 {
			peaks = append(peaks, rows[i].PeakAllocated)
		}
	}
	if len(peaks) == 0 {
		return 0
	}
	slices.Sort(peaks)
	return peaks[(len(peaks)-1)/2]
}
