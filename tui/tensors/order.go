package tensors

import (
	"cmp"
	"context"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
)

// question asks the index for the live allocations right after an event.
type question struct {
	index   page.Edition
	at      int
	tensors bool // one by one as well
}

// held is the live memory at one moment. It never changes.
type held struct {
	at      int
	stepped bool  // ages are known
	sites   []row // the largest first
	tensors []row // the same, nil unless asked for
	// described says that some tensor has a shape, a layer or a role, and shaped that some has more than a role.
	described, shaped bool
}

// row is a creation site, or a tensor with its site, if that is known.
type row struct {
	site   *leak.Site
	tensor *analysis.Tensor
}

// look asks the index. It runs in a command.
func look(_ context.Context, q question) *held {
	x := q.index.Index
	sites := x.Sites(q.at)
	h := &held{at: q.at, stepped: len(x.Steps()) > 0, sites: make([]row, len(sites))}
	numbers := make(map[leak.SiteID]*leak.Site, len(sites))
	stacks := make([]trace.StackID, len(sites))
	for i := range sites {
		s := &sites[i]
		h.sites[i], numbers[s.ID], stacks[i] = row{site: s}, s, s.ID.Stack()
	}
	for i, name := range x.StackNames(stacks) {
		if stacks[i] != 0 {
			sites[i].Name = name
		}
	}
	if !q.tensors {
		return h
	}
	tensors := x.Tensors(q.at)
	h.tensors = make([]row, len(tensors))
	for i := range tensors {
		t := &tensors[i]
		h.tensors[i] = row{numbers[t.Site], t}
		h.shaped = h.shaped || t.Shape != "" || t.Layer != ""
		h.described = h.shaped || h.described || t.Role != ""
	}
	return h
}

// columns are the columns of a list of held memory.
func (h *held) columns(of view) []page.Column[row] {
	if of == sites {
		return siteColumns(h)
	}
	return tensorColumns(h, of)
}

// order is the first order of a list. Without steps there are no verdicts.
func (h *held) order(of view) page.Order {
	if of == sites && h.stepped {
		return page.Order{By: "verdict"}
	}
	return page.Order{By: "bytes"}
}

// listQuestion is the input for a list.
type listQuestion struct {
	held     *held
	view     view
	site     siteKey
	order    page.Order
	filter   string
	worrying bool
}

// listing is the content of a list.
type listing struct {
	rows  []row
	bytes int64 // of all of them
}

// list returns the rows that pass the filters, sorted. It runs in a command:
// there may be hundreds of thousands.
func list(_ context.Context, q listQuestion) listing {
	from := q.held.tensors
	if q.view == sites {
		from = q.held.sites
	}
	l := listing{rows: make([]row, 0, len(from))}
	for _, r := range from {
		if q.has(r) {
			l.rows = append(l.rows, r)
		}
	}
	l.rows = page.Arrange(l.rows, q.held.columns(q.view), q.order, q.filter)
	for _, r := range l.rows {
		l.bytes += r.bytes()
	}
	return l
}

// has reports whether a row is listed, apart from the filter.
func (q *listQuestion) has(r row) bool {
	switch {
	case q.view == inside:
		return r.site != nil && keyOf(r.site) == q.site
	case q.worrying:
		return r.site != nil && r.site.Trend.Alarming()
	}
	return true
}

func (r row) bytes() int64 {
	if r.tensor != nil {
		return r.tensor.Size
	}
	return r.site.Bytes
}

// compareTrends puts alarming rows first, the worst and fastest before the rest.
// Among the other rows, size says more than the trend.
func compareTrends(a, b row) int {
	rank := func(r row) leak.Trend {
		if r.site.Trend.Alarming() {
			return r.site.Trend
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(b.site.GrowthPerStep, a.site.GrowthPerStep))
}

func siteName(r row) string {
	if r.site != nil {
		return r.site.Name
	}
	return ""
}

// find returns the row of a tensor, false if it was freed.
func (h *held) find(id trace.AllocationID) (row, bool) {
	i := slices.IndexFunc(h.tensors, func(r row) bool { return r.tensor.ID == id })
	if i < 0 {
		return row{}, false
	}
	return h.tensors[i], true
}
