package export

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// slice is a named stretch of time.
type slice struct {
	name       string
	start, end int64
}

// marks writes the program's annotations, and the steps that our own engine
// counts. Slices of one thread must lie within each other or apart, so a slice
// that overlaps another's end goes to the next thread.
func (p *perfetto) marks() {
	all := p.slices()
	var threads [][]int64 // the ends of the slices that are open
	for _, s := range all {
		thread := 0
		for thread < len(threads) && !fits(&threads[thread], s) {
			thread++
		}
		if thread == len(threads) {
			threads = append(threads, nil)
		}
		threads[thread] = append(threads[thread], s.end)
		duration := s.end - s.start
		p.write(traceEvent{Phase: "X", Name: s.name, Start: s.start, Thread: thread + 1, Duration: &duration})
	}
	for thread := range threads {
		p.write(traceEvent{Phase: "M", Name: "thread_name", Thread: thread + 1, Args: map[string]any{"name": "annotations"}})
	}
}

// fits closes the slices that end before s begins, and reports whether s lies
// within the slices that are still open.
func fits(open *[]int64, s slice) bool {
	ends := *open
	for len(ends) > 0 && ends[len(ends)-1] <= s.start {
		ends = ends[:len(ends)-1]
	}
	*open = ends
	return len(ends) == 0 || s.end <= ends[len(ends)-1]
}

// slices returns the longest slices, by start and the longer first.
func (p *perfetto) slices() []slice {
	var all []slice
	add := func(name string, start, end int64) {
		all = append(all, slice{label(trace.Shorten(name, 200)), start, max(start, end)})
	}
	for _, m := range p.index.Marks() {
		start, end := m.Start-p.base, m.End-p.base
		if !p.timed {
			start, end = int64(m.From), int64(m.To)
		}
		if m.OpenStart {
			start = min(p.when(-1), end)
		}
		if m.OpenEnd {
			end = max(p.when(p.index.End()), start)
		}
		add(m.Name, start, end)
	}
	for _, s := range p.engineSteps() {
		add(s.Name, p.when(s.From), p.when(s.To-1))
	}
	if most := sliceLimit / p.devices; len(all) > most {
		slices.SortFunc(all, func(a, b slice) int { return cmp.Compare(b.end-b.start, a.end-a.start) })
		all = all[:most]
	}
	slices.SortStableFunc(all, func(a, b slice) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	return all
}

// engineSteps are the steps that are events and not annotations.
func (p *perfetto) engineSteps() []analysis.Step {
	steps := p.index.Steps()
	if len(steps) == 0 || steps[0].From > p.index.End() ||
		p.index.Device().Events.At(steps[0].From).Kind != trace.StepBegin {
		return nil
	}
	return steps
}

// ooms writes the requests that failed.
func (p *perfetto) ooms() {
	for _, o := range analysis.SomeOOMs(p.index.OOMs(), max(instantLimit/p.devices, 1)) {
		p.instant("out of memory: "+quantity.Bytes(o.Requested), o.Event, map[string]any{
			"event": o.Event, "requested_bytes": o.Requested, "device_free_bytes": o.DeviceFree,
			"live_requested_bytes": o.Live, "reserved_bytes": o.Reserved, "verdict": o.Verdict.String(), "reason": o.Reason,
		})
	}
}

// instant marks a moment of the device.
func (p *perfetto) instant(name string, event int, args map[string]any) {
	p.write(traceEvent{Phase: "i", Name: name, Start: p.when(event), Scope: "p", Args: args})
}
