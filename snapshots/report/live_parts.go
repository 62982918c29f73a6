package report

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
)

// addMemory adds the purposes of the memory, if the program has sent any data
// about it: before the first measurement it sends an empty state without events, or
// one of which it does not know what it is for.
func (r *Live) addMemory(at int) {
	x := r.index
	m := x.SegmentsAt(at)
	if m.Reserved == 0 && x.Device().Events.Len() == 0 {
		return
	}
	r.AllocatedBytes, r.ReservedBytes = &m.Allocated, &m.Reserved
	last, measured := x.Trace().LastStep(x.Device().ID), x.Trace().LastMeasured(x.Device().ID)
	if measured != nil {
		behind := last.Number - measured.Number
		r.BehindSteps = &behind
		if behind > 0 && last.Reserved > 0 {
			r.AllocatedBytes, r.ReservedBytes = &last.Allocated, &last.Reserved
		}
	}
	if r.Looking {
		return
	}
	r.Categories, r.HostBytes = &Categories{Bytes: x.CategoriesAt(at)}, new(Categories)
	r.Waterfall = append(r.Waterfall, x.Waterfall(at, x.GaugeAt(at))...)
	r.ToHostBytes, r.FromHostBytes = x.Crossed(at)
	for _, row := range x.OnHost(at) {
		r.HostBytes.Bytes[row.Category] = row.Bytes
	}
}

// addStep adds the last step from the program's row, and the highest values.
func (r *Live) addStep(last *trace.Step) {
	r.Step, r.Settings = r.row.Step, r.row.Settings
	if r.Settings == nil {
		r.Settings = make(map[string]string)
	}
	if cost := analysis.ProbeCostOf(r.index.Trace().Steps); last != nil && cost.Known {
		mean := cost.PerStep()
		r.Probe.CostNSPerStep = &mean
	}
	if r.row.PeakAllocated > 0 {
		r.PeakAllocatedBytes, r.PeakReservedBytes = &r.row.PeakAllocated, &r.row.PeakReserved
		r.CategoriesAtPeak = &Categories{Bytes: r.row.AtPeak}
	}
	r.Highest = highest(r.index)
}

// highest returns the highest values that the program says of itself, else those of
// the known events, nil if none is known.
func highest(x *analysis.Index) *Highest {
	steps := x.Trace().Steps
	if s := x.Trace().LastStepThat(x.Device().ID, func(s *trace.Step) bool { return s.HighestAllocated > 0 }); s != nil {
		return &Highest{s.HighestAllocated, s.HighestReserved, "program"}
	}
	s := x.Summary()
	h := &Highest{x.SegmentsAt(s.PeakEvent).Allocated, s.PeakReserved, "watched"}
	for i := range steps {
		if s := &steps[i]; s.Device == x.Device().ID {
			h.AllocatedBytes, h.ReservedBytes = max(h.AllocatedBytes, s.PeakAllocated), max(h.ReservedBytes, s.PeakReserved)
		}
	}
	if h.ReservedBytes == 0 {
		return nil
	}
	return h
}

func (r *Live) addLayers(t analysis.LayerTable) {
	for i := range t.Rows {
		l := &t.Rows[i].Layer
		layer := Layer{
			Name: l.Name, Class: l.Class, OutputShape: l.OutputShape, DType: l.DType,
			ParameterBytes: l.ParameterBytes, OutputBytes: l.OutputBytes, SavedBytes: l.SavedBytes,
			ForwardNS: l.ForwardNS, BackwardNS: l.BackwardNS, RecomputeNS: l.RecomputeNS, Calls: l.Calls, Checkpointed: l.Checkpointed, OnHost: l.OnHost,
		}
		if t.Total.TransientPeakBytes > 0 {
			layer.TransientPeakBytes = &l.TransientPeakBytes
		}
		r.Layers = append(r.Layers, layer)
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

// liveGauges converts a gauge. In it, −1 is an unknown value.
func liveGauges(g *trace.Gauge) *Gauges {
	if g == nil {
		return nil
	}
	return &Gauges{
		DeviceTotalBytes: orNull(g.Total), DeviceUsedBytes: orNull(g.Used), ProcessBytes: orNull(g.Process),
		OtherBytes: orNull(g.Others), UtilisationPercent: orNull(g.Utilisation),
		TemperatureCelsius: orNull(g.Temperature), PowerMilliwatts: orNull(g.Power),
	}
}

// orNull returns nil for a value below 0, which stands for one that is not known.
func orNull(v int64) *int64 {
	if v < 0 {
		return nil
	}
	return &v
}
