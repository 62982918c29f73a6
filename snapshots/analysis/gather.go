package analysis

import (
	"cmp"
	"slices"

	"memtop/snapshots/trace"
)

// siteGatherer groups allocations by site and judges the sites, at one moment.
type siteGatherer struct {
	index    *Index
	at       int
	known    *sites
	past     *history
	describe *describer
	places   []*gathered // by place, nil where nothing is held
	found    []*gathered
	axis     []sample // what the last steps have in common
	from     int      // the first moment of the history that is shown
	to       int
	levels   []Level  // room for the histories of all sites
	evidence evidence // of the site that is being judged
	room     int64    // bytes until the device is full, −1 when not known
}

// gathered is what is known of one site.
type gathered struct {
	Site
	place      int32
	categories [trace.CategoryCount]int64
	sizes      []int64
	tag        trace.NoteID // of all its allocations
	mixed      bool         // they have several
}

// distinct reports whether each allocation has a size of its own.
func (s *gathered) distinct() bool {
	slices.Sort(s.sizes)
	return len(s.sizes) >= trendFew && len(slices.Compact(s.sizes)) == s.Count
}

func newSiteGatherer(x *Index, at int) *siteGatherer {
	g := &siteGatherer{
		index: x, at: at, known: x.sites(), past: x.history(), describe: x.describer(at),
	}
	g.places = make([]*gathered, len(g.known.list))
	g.to = g.past.until(at)
	g.from = max(0, g.to-HistorySteps)
	g.axis = x.axis(g.past, g.from, g.to)
	g.evidence.samples = make([]sample, len(g.axis))
	g.room = x.room(at)
	return g
}

// axis returns samples that know of their step, and nothing yet of any site.
func (x *Index) axis(h *history, from, to int) []sample {
	axis := make([]sample, to-from)
	changes, gaps := x.calendar().changes, x.gapsOf()
	for k := range axis {
		m := &h.moments[from+k]
		axis[k].number, axis[k].turnover = m.number, m.turnover
		since := -1
		if from+k > 0 {
			since = h.moments[from+k-1].event
		}
		for len(changes) > 0 && int(changes[0]) <= since {
			changes = changes[1:]
		}
		axis[k].changed = len(changes) > 0 && int(changes[0]) <= m.event
		axis[k].bridged = bridged(gaps, since, m.event)
	}
	return axis
}

// bridged reports whether events are missing between two that were kept.
func bridged(gaps []trace.Gap, since, until int) bool {
	for i := range gaps {
		if g := &gaps[i]; g.From <= until && max(g.To, g.From+1) > since+1 {
			return true
		}
	}
	return false
}

// room returns how many bytes the program can still take, −1 when that is not known:
// what the driver has left, and what the allocator has cached.
func (x *Index) room(at int) int64 {
	gauge := x.GaugeAt(at)
	if gauge == nil || gauge.Total < 0 || gauge.Used < 0 {
		return -1
	}
	return max(0, gauge.Total-gauge.Used) + max(0, x.ReservedAt(at)-x.RequestedAt(at))
}

func (g *siteGatherer) add(a *trace.Allocation) {
	place := g.known.of(a)
	s := g.places[place]
	if s == nil {
		s = &gathered{place: place, tag: a.Note}
		s.ID, s.Stack = g.known.list[place].id(), g.known.list[place].stack
		s.Oldest, s.AtLeast = g.describe.age(a) // they come the oldest first
		g.places[place], g.found = s, append(g.found, s)
	}
	v := g.index.verdict(a.Stack, a.Note, a.FreeStack)
	s.Count++
	s.Bytes += a.Size
	s.categories[v.category] += a.Size
	s.Guessed = s.Guessed || v.rule != ruleExact
	s.mixed = s.mixed || a.Note != s.tag && g.describe.noted(a.Note) != g.describe.noted(s.tag)
	s.sizes = append(s.sizes, a.Size)
	if lost := g.index.life.Lost(a.ID); lost <= g.at {
		s.LostCount++
		s.LostBytes += a.Size
	}
}

// sites judges what was gathered and returns it, the largest first.
func (g *siteGatherer) sites() []Site {
	all := make([]Site, 0, len(g.found))
	g.levels = make([]Level, len(g.found)*len(g.axis))
	for _, s := range g.found {
		g.name(s)
		s.Category = trace.Categories[0]
		for _, c := range trace.Categories {
			if s.categories[c] > s.categories[s.Category] {
				s.Category = c
			}
		}
		g.judge(s)
		all = append(all, s.Site)
	}
	slices.SortFunc(all, func(a, b Site) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.ID, b.ID)) })
	return all
}

// name joins what is made at a site, where its allocations agree on that, and
// where it is.
func (g *siteGatherer) name(s *gathered) {
	s.Name = g.index.SiteName(s.ID)
	if what := g.describe.noted(s.tag); !s.mixed && what != "" && what != s.Name {
		s.Name = what + ", " + s.Name
	}
}

func (g *siteGatherer) judge(s *gathered) {
	e := &g.evidence
	samples := e.samples
	copy(samples, g.axis)
	g.past.levels(s.place, g.from, samples)
	e.category, e.lost, e.lostSize, e.distinct = s.Category, s.LostCount, s.LostBytes, s.distinct
	e.fellAt, e.fellFrom = 0, 0
	if at, most := g.past.fell(s.place, g.to); at >= 0 {
		e.fellAt, e.fellFrom = g.past.moments[at].number, most
	}
	j := e.judge()
	s.Trend, s.Reason, s.Steps, s.GrowthPerStep, s.StepsToOOM = j.trend, j.reason, j.steps, j.perStep, -1
	if j.perStep > 0 && g.room >= 0 && j.trend != ShapeDriven && j.trend != Warming {
		s.StepsToOOM = g.room / j.perStep
	}
	s.History, g.levels = g.levels[:len(samples):len(samples)], g.levels[len(samples):]
	for k := range samples {
		p := &samples[k]
		s.History[k] = Level{
			Step: p.number, Event: g.past.moments[g.from+k].event, Count: p.count, Bytes: p.bytes, Bridged: p.bridged, Changed: p.changed,
		}
	}
}
