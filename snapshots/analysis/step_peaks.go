package analysis

// StepPeak is the most memory that a step held at any moment.
type StepPeak struct {
	Number int64 // the program's own, else counted from 1
	Event  int   // where it was reached, NoEvent where the events of the step are gone
	Bytes  int64 // requested, or what a running program said that was handed out
}

// StepPeaks returns the peaks of all steps of a device that were measured, those too of
// a running program whose events were let go.
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
