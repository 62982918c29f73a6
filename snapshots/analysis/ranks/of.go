package ranks

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// Of returns the row of an index, at the end of the trace. The rank is the one
// that the program reported. If a file has none, the caller must set it.
func Of(x *analysis.Index) Row {
	t, at := x.Trace(), x.End()
	now := x.SegmentsAt(at)
	r := Row{
		Name: t.Info.Path, Device: x.Device().ID, Step: x.StepAt(at), Allocated: now.Allocated, Reserved: now.Reserved,
		Capacity: -1, Others: -1,
	}
	if l := t.Live; l != nil {
		r.PID, r.Name = l.PID, l.Command
		if l.Rank != nil {
			r.Rank = *l.Rank
		}
	}
	if g := x.GaugeAt(at); g != nil {
		r.Capacity, r.Others = g.Total, g.Others
	}
	r.addSteps(x)
	failures := x.OOMEvents()
	if r.OutOfMemory = int64(len(failures)); len(failures) > 0 && x.Timed() {
		r.FailedAt = x.Device().Events.At(failures[0].Event).Time
	}
	r.Growth, _ = x.GrowthPerStep()
	return r
}

// addSteps adds the program's report of its last step, and the numbers of the
// last step in which it measured its memory. If a file has no such step, the
// peaks are those of the trace. If memtop has just attached to a program, the
// peaks are not known, because its first moments do not match the same moments of
// a step on other ranks.
func (r *Row) addSteps(x *analysis.Index) {
	if last := x.Trace().LastStep(r.Device); last != nil {
		r.Step, r.StepDuration = last.Number, last.Duration
		r.setSettings(last)
	}
	measured := x.Trace().LastMeasured(r.Device)
	if measured != nil && r.Settings == nil {
		r.setSettings(measured) // a step that was not watched says none
	}
	if measured == nil && x.Trace().Info.Growing {
		return
	}
	if measured == nil {
		s := x.Summary()
		r.PeakAllocated, r.PeakReserved = max(x.SegmentsAt(s.PeakEvent).Allocated, s.PeakRequested), s.PeakReserved // files may have no segments
		r.AtPeak = x.CategoriesAt(s.PeakEvent)
		return
	}
	r.PeakAllocated, r.PeakReserved, r.Measured = measured.PeakAllocated, measured.PeakReserved, true
	r.AtPeak = trace.ByCategory(measured.AtPeak)
}

// setSettings takes the settings of a step, nil where it says none.
func (r *Row) setSettings(s *trace.Step) {
	if len(s.Settings) == 0 {
		return
	}
	r.Settings = make(map[string]string, len(s.Settings))
	for _, v := range s.Settings {
		r.Settings[v.Key] = v.Value
	}
}
