package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
)

// Sites groups the live memory right after an event by its creation site, the
// largest first. History and trends are those of the steps up to that event.
func (x *Index) Sites(at int) []leak.Site {
	if at = x.clamp(at); at < x.End() {
		return x.sitesAt(at)
	}
	return slices.Clone(x.kept.sitesNow.get(x, func([]leak.Site) []leak.Site { return x.sitesAt(at) }))
}

func (x *Index) sitesAt(at int) []leak.Site {
	g := &siteGatherer{index: x, at: at, describe: x.describer(at), known: make(map[leak.SiteID]*gathered)}
	alive := x.alive(at)
	for i := range alive {
		g.add(&alive[i])
	}
	return g.sites()
}

// SiteName names a site by the tensors made there or, if these are not known, by
// its place in the code.
func (x *Index) SiteName(id leak.SiteID) string {
	switch {
	case id > 0:
		return x.StackName(id.Stack())
	case id < 0:
		n := &x.tables.Notes[id.Note()]
		if keeper := leak.Keeper(x.tables.String(n.Role)); keeper != "" {
			return trace.Printable(keeper)
		}
		return tagName(x.tables, n.Layer, n.Role)
	default:
		return HeldBefore
	}
}

// sites returns all sites.
func (x *Index) sites() *leak.Sites {
	return x.kept.sites.get(x, func(s *leak.Sites) *leak.Sites {
		if s == nil {
			s = leak.NewSites()
		}
		s.Read(x.tables)
		s.Join(x.life)
		return s
	})
}

// history returns the bytes that each site held after each step.
func (x *Index) history() *leak.History {
	return x.kept.history.get(x, func(h pastSteps) pastSteps {
		c := x.calendar()
		if h.History == nil || !h.counted {
			h = pastSteps{new(leak.History), c.read > 0}
		}
		h.Advance(x.life, x.sites(), c.Steps)
		return h
	}).History
}

// pastSteps is a history, and whether the program itself counted its steps.
// Inferred steps may change when more events come.
type pastSteps struct {
	*leak.History
	counted bool
}

// siteGatherer groups allocations by site, at one moment.
type siteGatherer struct {
	index    *Index
	at       int
	describe *describer
	known    map[leak.SiteID]*gathered
	found    []*gathered // in the order of their oldest allocations
}

// gathered is the data about one site.
type gathered struct {
	leak.Site
	categories [trace.CategoryCount]int64
	sizes      []int64
	tag        trace.NoteID // of all its allocations
	mixed      bool         // they have several
}

func (g *siteGatherer) add(a *trace.Allocation) {
	id := g.describe.sites.Of(a)
	s := g.known[id]
	if s == nil {
		s = &gathered{tag: a.Note, Site: leak.Site{ID: id}}
		s.Oldest, s.AtLeast = g.describe.age(a) // they come the oldest first
		g.known[id], g.found = s, append(g.found, s)
	}
	c, rule := g.index.Category(*a)
	s.Count++
	s.Bytes += a.Size
	s.categories[c] += a.Size
	s.Guessed = s.Guessed || !rule.Exact
	s.mixed = s.mixed || a.Note != s.tag && g.describe.noted(a.Note) != g.describe.noted(s.tag)
	s.sizes = append(s.sizes, a.Size)
	if lost := g.index.life.Lost(a.ID); lost <= g.at {
		s.LostCount++
		s.LostBytes += a.Size
	}
}

// sites judges the gathered sites and returns them, the largest first.
func (g *siteGatherer) sites() []leak.Site {
	all := make([]leak.Site, 0, len(g.found))
	survey := g.index.history().Survey(g.at, g.describe.gaps, g.index.room(g.at))
	for _, s := range g.found {
		g.name(s)
		s.Category = trace.Categories[0]
		for _, c := range trace.Categories {
			if s.categories[c] > s.categories[s.Category] {
				s.Category = c
			}
		}
		survey.Judge(&s.Site, s.sizes)
		if s.InPart = leak.HasGraph(s.Name); s.InPart && s.Trend.Alarming() {
			s.StepsToOOM = -1
			s.Reason += " It keeps what backward would need: keep .detach() or .item() of it. Counted is what the steps looked at saved."
		}
		all = append(all, s.Site)
	}
	slices.SortFunc(all, func(a, b leak.Site) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.ID, b.ID)) })
	return all
}

// name joins the tensors made at a site, if all its allocations have the same
// tag, and the site's place in the code. What keeps a site's memory names it alone.
func (g *siteGatherer) name(s *gathered) {
	if s.Name = g.index.SiteName(s.ID); s.ID < 0 {
		return
	}
	if what := g.describe.noted(s.tag); !s.mixed && what != "" && what != s.Name {
		s.Name = what + ", " + s.Name
	}
}

// room returns how many bytes the program can still take: the driver's free
// memory and the allocator's cached memory. It returns −1 if that is not known.
func (x *Index) room(at int) int64 {
	gauge := x.GaugeAt(at)
	if gauge == nil || gauge.Total < 0 || gauge.Used < 0 {
		return -1
	}
	return max(0, gauge.Total-gauge.Used) + max(0, x.ReservedAt(at)-x.RequestedAt(at))
}
