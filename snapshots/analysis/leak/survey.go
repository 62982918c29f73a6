package leak

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Survey judges sites by their memory at the ends of the last steps before one
// moment. It is owned by one goroutine.
type Survey struct {
	past     *History
	from, to int      // the moments that are looked at
	axis     []sample // what the steps have in common
	evidence evidence // of the site that is being judged
	room     int64
}

// Survey looks at the moment right after an event. Events are missing in the gaps;
// room is how many bytes the program can still take, −1 when not known.
func (h *History) Survey(at int, gaps []trace.Gap, room int64) *Survey {
	to := h.until(at)
	v := &Survey{past: h, from: max(0, to-HistorySteps), to: to, room: room}
	v.axis = h.axis(v.from, to, gaps)
	v.evidence.samples = make([]sample, len(v.axis))
	return v
}

// axis returns samples that know of their step, and nothing yet of any site.
func (h *History) axis(from, to int, gaps []trace.Gap) []sample {
	axis, changes := make([]sample, to-from), h.steps.Changes
	for k := range axis {
		m := &h.moments[from+k]
		axis[k].Step, axis[k].Event, axis[k].turnover, axis[k].found = m.number, m.event, m.turnover, m.found
		since := -1
		if from+k > 0 {
			since = h.moments[from+k-1].event
		}
		for len(changes) > 0 && int(changes[0]) <= since {
			changes = changes[1:]
		}
		axis[k].Changed = len(changes) > 0 && int(changes[0]) <= m.event
		axis[k].Bridged = slices.ContainsFunc(gaps, func(g trace.Gap) bool { return g.From <= m.event && max(g.To, g.From+1) > since+1 })
	}
	return axis
}

// Far is after how many steps it is no news that memory will be full.
const Far = 1_000_000

// Judge completes a site by its history and its trend. The site's category and losses
// must be known; sizes are those of its allocations and get another order.
func (v *Survey) Judge(s *Site, sizes []int64) {
	e, place := &v.evidence, v.past.known.placeOf(s.ID)
	copy(e.samples, v.axis)
	v.past.levels(place, v.from, e.samples)
	e.category, e.lost, e.lostSize, e.sizes = s.Category, s.LostCount, s.LostBytes, sizes
	e.fellAt, e.fellFrom = 0, 0
	if at, most := v.past.fell(place, v.to); at >= 0 {
		e.fellAt, e.fellFrom = v.past.moments[at].number, most
	}
	s.Verdict, s.StepsToOOM = e.judge(), -1
	if left := v.room / max(s.GrowthPerStep, 1); s.GrowthPerStep > 0 && v.room >= 0 && left < Far && s.Trend != ShapeDriven && s.Trend != Warming {
		s.StepsToOOM = left
	}
	s.History = make([]Level, len(e.samples))
	for k := range e.samples {
		s.History[k] = e.samples[k].Level
	}
}
