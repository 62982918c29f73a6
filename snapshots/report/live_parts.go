package report

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
)

// addStep adds what the row of the program says of its last step. Where none was
// measured, the peaks are those since the first event.
func (r *Live) addStep(last *trace.Step) {
	r.Step, r.Settings = r.row.Step, r.row.Settings
	if r.Settings == nil {
		r.Settings = make(map[string]string)
	}
	if last != nil {
		r.Probe.CostNSPerStep = last.ProbeNS
	}
	r.PeakAllocatedBytes, r.PeakReservedBytes = r.row.PeakAllocated, r.row.PeakReserved
	r.CategoriesAtPeak = Categories{Bytes: r.row.AtPeak}
	if r.row.PeakAllocated == 0 {
		x := r.index
		peak := x.Summary().PeakEvent
		r.PeakAllocatedBytes, r.PeakReservedBytes = x.SegmentsAt(peak).Allocated, x.Summary().PeakReserved
		r.CategoriesAtPeak = Categories{Bytes: x.CategoriesAt(peak)}
	}
}

func liveTensors(x *analysis.Index, at int) []Tensor {
	tensors := x.Tensors(at)
	all := make([]Tensor, len(tensors))
	names := make(map[leak.SiteID]string)
	for _, s := range x.Sites(at) {
		names[s.ID] = s.Name
	}
	for i := range tensors {
		t := &tensors[i]
		site := names[t.Site]
		all[i] = Tensor{
			Name: t.Name, Category: t.Category.String(), Shape: t.Shape, DType: t.DType, Bytes: t.Size, AgeSteps: t.Age,
			Layer: t.Layer, Site: site, Stack: make([]string, 0),
		}
		if !t.FreeStack {
			all[i].Stack = x.Frames(t.Stack)
		}
	}
	return all
}

// liveLeaks lists what the findings and the page of tensors say of sites.
func liveLeaks(x *analysis.Index) []Leak {
	sites := x.Sites(analysis.LastStepEnd(x))
	slices.SortStableFunc(sites, func(a, b leak.Site) int { return cmp.Compare(b.Trend, a.Trend) })
	leaks := make([]Leak, 0)
	for i := range sites {
		s := &sites[i]
		if s.Trend <= leak.Steady || s.Trend == leak.ShapeDriven && !stays(s) {
			continue
		}
		leaks = append(leaks, Leak{
			Site: s.Name, Verdict: s.Trend.String(), Bytes: s.Bytes, Count: s.Count,
			GrowthPerStep: s.GrowthPerStep, StepsObserved: s.Steps, Reason: s.Reason,
		})
	}
	return leaks
}

// liveGauges writes a gauge, whose unknown values are −1.
func liveGauges(g *trace.Gauge) *Gauges {
	if g == nil {
		return nil
	}
	known := func(v int64) *int64 {
		if v < 0 {
			return nil
		}
		return &v
	}
	return &Gauges{
		DeviceTotalBytes: known(g.Total), DeviceUsedBytes: known(g.Used), ProcessBytes: known(g.Process),
		OtherBytes: known(g.Others), UtilisationPercent: known(g.Utilisation),
		TemperatureCelsius: known(g.Temperature), PowerMilliwatts: known(g.Power),
	}
}

// stays reports whether anything of the site was left after the last step.
func stays(s *leak.Site) bool { return len(s.History) > 0 && s.History[len(s.History)-1].Count > 0 }
