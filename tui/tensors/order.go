package tensors

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
	"memtop/tui/find"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// question is what is wanted of the index: what is alive right after an event.
type question struct {
	index   page.Edition
	at      int
	tensors bool // one by one as well
}

// held is what is alive at one moment. It never changes.
type held struct {
	at      int
	stepped bool // ages are known
	sites   []analysis.Site
	tensors []analysis.Tensor
	numbers map[analysis.SiteID]int32
	// described says that some tensor tells what it is.
	described bool
}

// look asks the index. It runs in a command.
func look(_ context.Context, q question) *held {
	x := q.index.Index
	h := &held{at: q.at, stepped: len(x.Steps()) > 0, sites: x.Sites(q.at), numbers: make(map[analysis.SiteID]int32)}
	stacks := make([]trace.StackID, len(h.sites))
	for i := range h.sites {
		h.numbers[h.sites[i].ID], stacks[i] = int32(i), h.sites[i].Stack
	}
	for i, name := range x.StackNames(stacks) {
		if stacks[i] != 0 {
			h.sites[i].Name = name
		}
	}
	if !q.tensors {
		return h
	}
	h.tensors = x.Tensors(q.at)
	h.described = slices.ContainsFunc(h.tensors, func(t analysis.Tensor) bool { return t.Shape != "" || t.Layer != "" || t.Role != "" })
	return h
}

// siteOf returns the site of a tensor.
func (h *held) siteOf(t *analysis.Tensor) *analysis.Site {
	if i, ok := h.numbers[t.Site]; ok {
		return &h.sites[i]
	}
	return nil
}

// sorting is the order of a list.
type sorting struct {
	column  sortColumn
	inverse bool
}

type sortColumn uint8

const (
	byTrend sortColumn = iota
	byBytes
	byCount
	byGrowth
	byAge
	byName
	byCategory
	byShape
	byDType
	byLayer
	bySite
	noSort
)

// listQuestion is what a list is made from.
type listQuestion struct {
	held     *held
	view     view
	site     siteKey
	sort     sorting
	filter   string
	worrying bool
}

// listing is what a list shows.
type listing struct {
	rows  []int32 // of held.sites or held.tensors, in order
	bytes int64   // of all of them
}

// list returns what the filters leave, sorted. It runs in a command: there may
// be hundreds of thousands.
func list(_ context.Context, q listQuestion) listing {
	var l listing
	if q.view == sites {
		l.rows = arrange(q, q.held.sites, q.hasSite, compareSites)
		for _, i := range l.rows {
			l.bytes += q.held.sites[i].Bytes
		}
		return l
	}
	l.rows = arrange(q, q.held.tensors, q.hasTensor, q.compareTensors)
	for _, i := range l.rows {
		l.bytes += q.held.tensors[i].Size
	}
	return l
}

func arrange[T any](q listQuestion, all []T, has func(*T) bool, compare func(c sortColumn, a, b *T) int) []int32 {
	rows := make([]int32, 0, len(all))
	for i := range all {
		if has(&all[i]) {
			rows = append(rows, int32(i))
		}
	}
	slices.SortStableFunc(rows, func(a, b int32) int {
		if q.sort.inverse {
			a, b = b, a
		}
		return compare(q.sort.column, &all[a], &all[b])
	})
	return rows
}

func (q *listQuestion) hasSite(s *analysis.Site) bool {
	return (!q.worrying || s.Trend.Alarming()) && (q.filter == "" || find.Text(siteText(s), q.filter))
}

func (q *listQuestion) hasTensor(t *analysis.Tensor) bool {
	s := q.held.siteOf(t)
	switch {
	case q.view == inside && (s == nil || keyOf(s) != q.site):
		return false
	case q.worrying && q.view == single && (s == nil || !s.Trend.Alarming()):
		return false
	}
	return q.filter == "" || find.Text(tensorText(t, s), q.filter)
}

// siteText is what search and filter look at in a site.
func siteText(s *analysis.Site) string {
	return strings.Join([]string{s.Trend.String(), s.Name, s.Category.String(), screen.Bytes(s.Bytes)}, " ")
}

// tensorText is what they look at in a tensor.
func tensorText(t *analysis.Tensor, s *analysis.Site) string {
	words := []string{t.Name, t.Category.String(), t.Shape, t.DType, t.Layer, t.Role, screen.Bytes(t.Size)}
	if s != nil {
		words = append(words, s.Name, s.Trend.String())
	}
	return strings.Join(words, " ")
}

// compareSites puts what is worst, largest or oldest first, and names in their
// own order.
func compareSites(c sortColumn, a, b *analysis.Site) int {
	most := cmp.Compare(b.Bytes, a.Bytes)
	switch c {
	case byTrend:
		return cmp.Or(compareTrends(a, b), cmp.Compare(b.GrowthPerStep, a.GrowthPerStep), most)
	case byCount:
		return cmp.Or(cmp.Compare(b.Count, a.Count), most)
	case byGrowth:
		return cmp.Or(cmp.Compare(b.GrowthPerStep, a.GrowthPerStep), most)
	case byAge:
		return cmp.Or(cmp.Compare(b.Oldest, a.Oldest), most)
	case byName, bySite:
		return cmp.Or(cmp.Compare(a.Name, b.Name), most)
	case byCategory:
		return cmp.Or(cmp.Compare(a.Category, b.Category), most)
	default:
		return most
	}
}

// compareTrends puts what is alarming first, the worst of it before the rest.
// Among what is not, size says more than the trend.
func compareTrends(a, b *analysis.Site) int {
	rank := func(s *analysis.Site) analysis.Trend {
		if s.Trend.Alarming() {
			return s.Trend
		}
		return 0
	}
	return cmp.Compare(rank(b), rank(a))
}

func (q *listQuestion) compareTensors(c sortColumn, a, b *analysis.Tensor) int {
	most := cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.ID, b.ID))
	switch c {
	case byAge:
		return cmp.Or(cmp.Compare(b.Age, a.Age), most)
	case byName:
		return cmp.Or(cmp.Compare(a.Name, b.Name), most)
	case byCategory:
		return cmp.Or(cmp.Compare(a.Category, b.Category), most)
	case byShape:
		return cmp.Or(cmp.Compare(a.Shape, b.Shape), most)
	case byDType:
		return cmp.Or(cmp.Compare(a.DType, b.DType), most)
	case byLayer:
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), most)
	case bySite:
		return cmp.Or(cmp.Compare(q.siteName(a), q.siteName(b)), most)
	default:
		return most
	}
}

func (q *listQuestion) siteName(t *analysis.Tensor) string {
	if s := q.held.siteOf(t); s != nil {
		return s.Name
	}
	return ""
}
