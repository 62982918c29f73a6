package analysis

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/analysis/host"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// HostLedger returns what the program had of the machine's memory right after an
// event, and the gauge that says so; nil if the program does not say. The caller may
// not change the gauge.
func (x *Index) HostLedger(at int) (host.Ledger, *trace.Gauge) {
	if x.trace.Live == nil {
		return host.Ledger{}, nil
	}
	at = x.clamp(at)
	now := int64(-1) // the end
	if at >= 0 && at < x.End() && x.Timed() {
		now = x.events.At(at).Time
	}
	var before, first *trace.Gauge
	for i := len(x.trace.Live.Gauges) - 1; i >= 0; i-- {
		if g := &x.trace.Live.Gauges[i]; g.Device == x.hostDevice() && g.Host != nil {
			if first = g; now < 0 || g.Time <= now {
				before = g
				break
			}
		}
	}
	if before == nil {
		before = first
	}
	if before == nil {
		return host.Ledger{}, nil
	}
	l := host.Of(before.Host)
	for i := range l.Rows {
		if r := &l.Rows[i]; r.Kind == host.Pinned {
			if by := x.pinnedBy(); by != "" {
				r.Detail = "most by " + by
			}
		}
	}
	return l, before
}

// HostGrowth returns what grows of the program's memory on the host, from the first
// gauge to the last, the fastest first.
func (x *Index) HostGrowth() []host.Growth {
	if x.trace.Live == nil {
		return nil
	}
	found := host.Growing(x.trace.Live.Gauges, x.hostDevice())
	for i := range found {
		if g := &found[i]; g.Kind == host.Pinned && g.Keeper == "" {
			g.Keeper = x.pinnedBy()
		}
	}
	return found
}

// HostPerStep returns by how many bytes the program's memory on the host rises in a
// step, and over how many steps; 0 steps if that is not known.
func (x *Index) HostPerStep() (bytes, steps int64) {
	if x.trace.Live == nil {
		return 0, 0
	}
	return host.PerStep(x.trace.Live.Gauges, x.hostDevice())
}

// hostDevice is the device of the gauges of the machine's memory.
func (x *Index) hostDevice() int {
	if x.uncached {
		return x.device.ID
	}
	return trace.HostDevice
}

// hostGrows finds what grows on the host.
func (f *finder) hostGrows() {
	ends := f.index.calendar().Ends // of tensors that the trace has, leaks judge the sites, and tell them from a cache that fills now and then
	for _, g := range f.index.HostGrowth() {
		if g.Kind == host.Tensors && f.index.uncached && len(ends) > 0 && ends[len(ends)-1].Number-ends[0].Number >= int64(g.Steps) {
			continue
		}
		found := Finding{
			Kind: HostGrowthFinding, Severity: Problem, Bytes: g.Bytes, Confidence: Probable, Where: Where{Event: NoEvent},
			Evidence: fmt.Sprintf("Memory of the host grows: %s, +%s per step over %s, now %s", g.Name,
				quantity.Bytes(g.GrowthPerStep), quantity.Plural(g.Steps, "step"), quantity.Bytes(g.Bytes)),
			Remedy: g.Kind.Remedy(),
		}
		if g.Keeper != "" {
			found.Evidence, found.Remedy = found.Evidence+", kept by "+g.Keeper, "look at what it adds and when that is taken out"
		}
		if g.Detail != "" {
			found.Evidence += " (" + g.Detail + ")"
		}
		if 10*g.InAll > 11*g.GrowthPerStep {
			found.Evidence += fmt.Sprintf("; with what lies between and around it, +%s per step", quantity.Bytes(g.InAll))
		}
		if g.StepsLeft >= 0 && g.StepsLeft < leak.Far {
			found.Evidence += fmt.Sprintf(". The %s of %s are full in %s", quantity.Bytes(g.Of.Bytes), g.Of.Whose(), quantity.Plural(int(g.StepsLeft), "step"))
		}
		f.add(found)
	}
}
