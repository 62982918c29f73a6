package whatif

import (
	"cmp"
	"slices"
)

// Saving is a text of settings under which the same requests reserve less.
type Saving struct {
	Settings string
	Saved    int64 // bytes of the reserved peak under the recorded settings, begun anew
	Reserved int64 // the peak that is left
	Note     string
}

// Savings returns the settings of the answer under which the program would have
// reserved less at its peak, the largest saving first. It returns none if the
// replay under the recorded settings differs from the recording, and leaves out
// settings that run out of memory.
func (a *Answer) Savings() []Saving {
	if a.Again == nil || a.Recorded.WhyNot != "" {
		return nil
	}
	var list []Saving
	for i := range a.Runs {
		r := &a.Runs[i]
		if saved := a.Again.PeakReserved - r.PeakReserved; saved > 0 && !r.Ends && (!r.OOM || a.Recorded.OOM != nil) {
			list = append(list, Saving{r.Settings, saved, r.PeakReserved, r.Note})
		}
	}
	slices.SortStableFunc(list, func(x, y Saving) int { return cmp.Compare(y.Saved, x.Saved) })
	return list
}
