package analysis

// StepPeak is the most memory that a step held at any moment.
type StepPeak struct {
	Number int64 // the program's own, else counted from 1
	Event  int   // where it was reached, NoEvent if the step's events are no longer kept
	Bytes  int64 // requested, or allocated as a running program reported it
}

// StepPeaks returns the peaks of all measured steps of a device. It includes
// steps of a running program whose events are no longer kept.
func StepPeaks(x *Index) []StepPeak {
	var peaks []StepPeak
	for i := range x.trace.Steps {
		if s := &x.trace.Steps[i]; s.Device == x.device.ID && s.Measured() {
			peaks = append(peaks, StepPeak{s.Number, NoEvent, s.PeakAllocated})
		}
	}
	if len(peaks) > 0 {
		return peaks
	}
	for i, s := range x.Steps() {
		if s.To > s.From {
			at, bytes := x.Highest(s.From, s.To)
			peaks = append(peaks, StepPeak{int64(i + 1), at, bytes})
		}
	}
	return peaks
}
