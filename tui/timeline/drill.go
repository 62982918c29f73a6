package timeline

import (
	"cmp"
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
	"memtop/tui/ask"
	"memtop/tui/find"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// item is an allocation that is alive at the cursor.
type item struct {
	trace.Allocation
	category analysis.Category
	held     bool // from before recording, of unknown use
}

type aliveQuestion struct {
	index *analysis.Index
	at    int
}

// step is how far the reader has gone down from a band.
type step uint8

const (
	inAll   step = iota // the bands are listed
	inBand              // the stacks of a band
	inStack             // the allocations of a stack
)

// group is a row of the left list: a band, a stack or an allocation, or on the
// first row all of them.
type group struct {
	name   string
	letter rune
	role   screen.Role
	bytes  int64
	count  int
	all    bool
	band   int
	stack  trace.StackID
	id     trace.AllocationID
}

// drill is the part under the chart: on the left the way from a band to its
// stacks and their allocations, on the right what is alive in the selected
// row.
type drill struct {
	scene    *page.Scene
	asked    *ask.One[aliveQuestion, []item]
	step     step
	band     int // entered at inBand and below, allBands for all
	bandName string
	stack    trace.StackID // entered at inStack
	groups   []group
	scope    []item // what is in what was entered
	alive    []item // of scope, what the selected row holds
	left     page.List
	right    page.List
	detail   page.Reader
	onRight  bool
	filter   string
	search   string
	byAge    bool
	inverse  bool
	frames   bool // show all frames
	made     made
}

// made is what the lists were last made from.
type made struct {
	q               aliveQuestion
	chart           chartQuestion
	step            step
	band            int
	stack           trace.StackID
	cursor          int
	filter          string
	byAge, inverted bool
}

const allBands = -1

func newDrill(s *page.Scene) drill {
	d := drill{scene: s, band: allBands, made: made{cursor: -1}}
	d.asked = ask.New(func(_ context.Context, q aliveQuestion) []item { return aliveAt(q) })
	return d
}

func aliveAt(q aliveQuestion) []item {
	alive := q.index.AliveAt(q.at)
	items := make([]item, len(alive))
	for i, a := range alive {
		category, rule := q.index.Category(a)
		items[i] = item{a, category, a.Open < 0 && a.FreeStack && !rule.Exact}
	}
	return items
}

func (d *drill) ask(at int) tea.Cmd { return d.asked.Ask(aliveQuestion{d.scene.Index, at}) }

// reset goes back to all bands, for a chart with other ones.
func (d *drill) reset() { d.step, d.band, d.left.Cursor = inAll, allBands, 0 }

// back goes one step up and reports whether there was one.
func (d *drill) back() bool {
	switch {
	case d.step == inStack:
		d.step = inBand
		d.left.Cursor = d.rowOfStack()
	case d.step == inBand:
		d.step, d.left.Cursor = inAll, 0
	case d.filter != "":
		d.filter = ""
	case d.onRight:
		d.onRight = false
	default:
		return false
	}
	return true
}

// rowOfStack makes the stacks again and finds the one that was left.
func (d *drill) rowOfStack() int {
	d.made.cursor = -1
	for i, g := range d.stackGroups() {
		if g.stack == d.stack {
			return i + 1
		}
	}
	return 0
}

// update makes the lists if anything they are made from has changed.
func (d *drill) update(p *Page) {
	items, ok := d.asked.Answer()
	if !ok {
		return
	}
	now := made{
		d.asked.Answered(), p.charted, d.step, d.band, d.stack, d.left.Cursor, d.filter, d.byAge, d.inverse,
	}
	if now != d.made {
		d.scope = d.within(items, p)
		d.groups = d.makeGroups(p)
		d.left.Resize(len(d.groups), max(d.left.Height, 1))
		d.alive = d.selection(p)
		now.cursor = d.left.Cursor
		d.made = now
	}
	d.left.Resize(len(d.groups), p.shape.left.H-1)
	d.right.Resize(len(d.alive), p.shape.right.H-1)
	d.detail.Resize(len(d.detailLines()), p.shape.right.H-1)
}

// within returns the items of what was entered that pass the filter.
func (d *drill) within(items []item, p *Page) []item {
	var in []item
	for i := range items {
		it := &items[i]
		switch {
		case d.step >= inBand && d.band != allBands && p.bandOf(it) != d.band,
			d.step == inStack && it.Stack != d.stack,
			d.filter != "" && !find.Text(d.text(it), d.filter):
			continue
		}
		in = append(in, *it)
	}
	return in
}

// bandOf returns the band of the chart that an allocation is in.
func (p *Page) bandOf(it *item) int {
	for i := range p.chart.Bands {
		b := &p.chart.Bands[i]
		switch {
		case b.Rest:
			return i
		case p.charted.by == analysis.ByCategory && b.Held == it.held && (b.Held || b.Category == it.category),
			p.charted.by == analysis.ByStack && b.Stack == max(it.Stack, trace.EmptyStack),
			p.charted.by == analysis.ByAllocation && b.Allocation == it.ID:
			return i
		}
	}
	return len(p.chart.Bands) - 1
}

func (d *drill) text(it *item) string {
	return d.scene.Index.StackName(it.Stack) + " " + screen.Address(it.Addr) + " " + it.category.String() + " " + screen.Bytes(it.Size)
}

// makeGroups makes the rows of the left list.
func (d *drill) makeGroups(p *Page) []group {
	total := group{name: "all", all: true, role: screen.Default, letter: ' ', count: len(d.scope)}
	for i := range d.scope {
		total.bytes += d.scope[i].Size
	}
	var groups []group
	switch {
	case d.step == inStack:
		groups, total.name = d.allocationGroups(), "all of this stack"
	case d.step == inBand:
		groups, total.name = d.stackGroups(), "all of "+d.bandName
	case p.charted.segments:
		return p.segmentGroups()
	default:
		groups, total.name = p.bandGroups(d.scope), "everything alive"
	}
	return append([]group{total}, groups...)
}

// bandGroups adds up the bands, in the order in which they lie on the chart
// from top to bottom.
func (p *Page) bandGroups(items []item) []group {
	groups := make([]group, len(p.chart.Bands))
	for i := range p.chart.Bands {
		b := &p.chart.Bands[i]
		groups[i] = group{name: b.Name, letter: bandLetter(b, i, p.charted.by), role: bandRole(b, i, p.charted.by), band: i, stack: b.Stack, id: b.Allocation}
	}
	for i := range items {
		if b := p.bandOf(&items[i]); b >= 0 {
			groups[b].bytes += items[i].Size
			groups[b].count++
		}
	}
	slices.Reverse(groups)
	return groups
}

// segmentGroups takes the bands of a segment chart from the cursor's column.
func (p *Page) segmentGroups() []group {
	total := group{name: "all segments", all: true, letter: ' '}
	groups := []group{}
	if len(p.chart.Columns) == 0 {
		return []group{total}
	}
	column := &p.chart.Columns[max(columnOf(p.chart.Columns, p.scene.Cursor()), 0)]
	for i := len(p.chart.Bands) - 1; i >= 0; i-- {
		b := &p.chart.Bands[i]
		bytes := int64(0)
		if i < len(column.Bands) {
			bytes = column.Bands[i]
		}
		groups = append(groups, group{name: b.Name, letter: bandLetter(b, i, analysis.ByStack), role: bandRole(b, i, analysis.ByStack), bytes: bytes, band: i})
		total.bytes += bytes
	}
	return append([]group{total}, groups...)
}

// stackGroups adds up the stacks of the scope, the largest first.
func (d *drill) stackGroups() []group {
	at := make(map[trace.StackID]int)
	var groups []group
	for i := range d.scope {
		it := &d.scope[i]
		k, ok := at[it.Stack]
		if !ok {
			k = len(groups)
			at[it.Stack] = k
			groups = append(groups, group{
				name: d.scene.Index.StackName(it.Stack), stack: it.Stack, letter: ' ', role: screen.Band(int(it.category)),
			})
		}
		groups[k].bytes += it.Size
		groups[k].count++
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(b.bytes, a.bytes) })
	return groups
}

func (d *drill) allocationGroups() []group {
	groups := make([]group, len(d.scope))
	for i := range d.scope {
		it := &d.scope[i]
		groups[i] = group{name: madeText(it), bytes: it.Size, count: 1, letter: ' ', stack: it.Stack, id: it.ID, role: screen.Band(int(it.category))}
	}
	return groups
}

func madeText(it *item) string {
	if it.Open < 0 {
		return screen.Address(it.Addr) + " from before recording"
	}
	return screen.Address(it.Addr) + " made by event " + screen.Count(it.Open)
}

// selected returns the selected row of the left list.
func (d *drill) selected() *group {
	if d.left.Cursor < len(d.groups) {
		return &d.groups[d.left.Cursor]
	}
	return nil
}

// selection returns what is alive in the selected row, sorted.
func (d *drill) selection(p *Page) []item {
	g := d.selected()
	if g == nil {
		return nil
	}
	var some []item
	for i := range d.scope {
		it := &d.scope[i]
		switch {
		case g.all, p.charted.segments && d.step == inAll:
		case d.step == inAll && p.bandOf(it) != g.band, d.step == inBand && it.Stack != g.stack, d.step == inStack && it.ID != g.id:
			continue
		}
		some = append(some, *it)
	}
	d.sort(some)
	return some
}

// sort orders what is alive; it comes sorted by size, the largest first.
func (d *drill) sort(items []item) {
	if d.byAge {
		slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(a.Open, b.Open) })
	}
	if d.inverse {
		slices.Reverse(items)
	}
}
