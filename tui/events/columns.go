package events

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// lives names the order by how long allocations live, which has no column.
const lives = "lives"

// columns are the columns of the list. Their sort functions read only x, because
// they run in a command.
func columns(x *analysis.Index, p *Page) []page.Column[row] {
	of := func(text func(i int, e *trace.Event) string) func(row) string {
		return func(r row) string { return text(r.event, p.Scene.Events().At(r.event)) }
	}
	events := x.Device().Events
	return []page.Column[row]{
		{Head: "event", Width: func(int) int { return max(screen.Width(screen.Count(events.Len())), 5) }, Gap: 2, Natural: true, Text: func(r row) string { return screen.Count(r.event) }},
		{Head: "time", Width: func(w int) int { return page.From(map[bool]int{true: 90, false: page.All}[x.Timed()], 11)(w) }, Gap: 2, Text: func(r row) string { return p.timeText(r.event) }},
		{Head: "action", Width: page.Cells(14), Gap: 2, Left: true, Text: of(func(_ int, e *trace.Event) string { return page.ActionText(p.Scene.Tables(), e) })},
		{Head: "size", Width: page.Cells(screen.BytesWidth), Gap: 2, Text: of(sizeText), Value: func(r row) int64 { return size(events.At(r.event)) }},
		{Head: "live after", Width: page.Cells(screen.BytesWidth), Gap: 2, Text: func(r row) string { return screen.Bytes(p.Scene.Index.RequestedAt(r.event)) }},
		{Head: "address", Width: page.From(104, 15), Gap: 2, Text: of(addressText)},
		{Head: "stream", Width: page.From(112, 6), Gap: 2, Text: of(streamText)},
		{Head: "where", Rest: page.All, Left: true, Text: of(p.where)},
		{Head: lives, Value: func(r row) int64 { return life(x, events, r.event) }},
	}
}

// size is an event's size for sorting; −1 for none.
func size(e *trace.Event) int64 {
	if e.Absent&trace.NoSize != 0 {
		return -1
	}
	return e.Size
}

// life is for how many events the allocation of event i lives; −1 if it makes
// none.
func life(x *analysis.Index, events trace.Events, i int) int64 {
	if events.At(i).Kind != trace.Alloc {
		return -1
	}
	return int64(min(x.Lifetimes().Closed(i), events.Len()) - i)
}

func sizeText(_ int, e *trace.Event) string {
	switch {
	case e.Absent&trace.NoSize != 0:
		return ""
	case page.IsStep(e):
		return screen.Count(int(e.Size))
	}
	return screen.Bytes(e.Size)
}

func addressText(_ int, e *trace.Event) string {
	if e.Absent&trace.NoAddr != 0 || e.Kind == trace.OOM {
		return ""
	}
	return screen.Address(e.Addr)
}

func streamText(_ int, e *trace.Event) string {
	if e.Absent&trace.NoStream != 0 {
		return ""
	}
	return page.StreamText(e.Stream)
}

func (p *Page) timeText(i int) string {
	us, ok := p.Scene.Since(i)
	if !ok {
		return ""
	}
	return "+" + screen.Micros(us)
}

// where names an event's stack in one line. For a free it names the freed
// allocation, which helps more than the place of the free.
func (p *Page) where(i int, e *trace.Event) string {
	if p.Scene.GapAt(i) != nil {
		return "made up: " + p.place(i, e)
	}
	return p.place(i, e)
}

func (p *Page) place(i int, e *trace.Event) string {
	if e.Kind == trace.OOM {
		return "out of memory: the device had " + screen.Bytes(int64(e.Addr)) + " free"
	}
	if e.Kind != trace.Alloc {
		if a, ok := page.AllocationOf(p.Scene, i); ok {
			if a.Open < 0 {
				return "← from before recording"
			}
			return "← #" + screen.Count(a.Open) + " " + page.Names(nil).Allocation(p.Scene.Index, a)
		}
	}
	if e.Stack <= trace.EmptyStack {
		return ""
	}
	return page.Names(nil).Allocation(p.Scene.Index, trace.Allocation{Stack: e.Stack, Note: e.Note})
}

// drawWhole draws marks and the start, which have no columns, and marks what the
// search found.
func (p *Page) drawWhole(c screen.Canvas, y int, r row) bool {
	switch {
	case r.mark != nil:
		drawMark(c, y, r.mark)
		return true
	case r.event < 0:
		text := "before the first event: " + screen.Bytes(p.Scene.Summary.InitialRequested) + " held in " +
			screen.Plural(p.Scene.Summary.Held, "allocation")
		c.Fit(1, y, c.Width()-2, text, screen.Dim)
		return true
	case p.search.Has(r.event):
		c.Set(0, y, '▸', screen.Title)
	}
	return false
}

// rowStyle gives the kinds of events different styles. Their names differ too.
func (p *Page) rowStyle(r row) screen.Style {
	switch p.Scene.Events().At(r.event).Kind {
	case trace.OOM:
		return screen.Bad
	case trace.SegmentAlloc, trace.SegmentFree, trace.SegmentMap, trace.SegmentUnmap:
		return screen.Style{Fg: screen.Accent}
	case trace.FreeRequested, trace.FreeCompleted, trace.Free:
		return screen.Dim
	default:
		return screen.Plain
	}
}
