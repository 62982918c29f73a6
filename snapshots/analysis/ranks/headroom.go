package ranks

import "slices"

// Headroom returns how many bytes of the device's memory were never used: the
// capacity minus the memory of other programs minus the peak of reserved memory
// in the rank's last step. If the capacity is not known, ok is false.
func (r *Row) Headroom() (bytes int64, ok bool) {
	if r.Capacity <= 0 {
		return 0, false
	}
	return r.Capacity - max(r.Others, 0) - max(r.PeakReserved, r.Reserved), true
}

// MedianPeak returns the median of the ranks' allocated peaks in their last
// steps, in bytes, the lower of two middle values; 0 if no rank made a step.
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
