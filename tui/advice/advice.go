// Package advice is the page of changes that would reduce a running program's
// memory: its settings, each with the program's prediction of what it saves, the
// best first.
package advice

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/page"
)

// question is the page's question to the program.
type question struct {
	program  proposals.Program
	settings string // of the next step
	device   int
	trace    *trace.Trace // the trace at the time of the other fields, without events
}

// found is the answer.
type found struct {
	*proposals.Answer
	rows []row
	peak int64 // of the last step, bytes
	err  error
}

// row is an option.
type row struct {
	*proposals.Proposal
	of *found
}

// Page is the page of advice.
type Page struct {
	page.Body
	asked *ask.One[question, *found]
	last  question
	table page.Table[row, string]
	shown *found // the shown answer, nil before the first
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{Body: page.NewBody(s, "Advice"), asked: ask.New(nil, look)}
	p.table = page.Table[row, string]{
		Columns: columns(), Noun: "option", Body: &p.Body, Style: styleOf,
		Key: func(r row) string { return r.Name() }, Open: p.use,
	}
	p.bind()
	return p
}

// look asks the program.
func look(ctx context.Context, q question) *found {
	f := &found{peak: q.trace.LastMeasured(q.device).PeakAllocated}
	if f.Answer, f.err = proposals.Find(ctx, q.program, q.trace.Live.Options); f.err != nil {
		return f
	}
	for i := range f.Proposals {
		f.rows = append(f.rows, row{&f.Proposals[i], f})
	}
	return f
}

// wanted returns the current question, and whether it can be asked. It cannot
// while a change waits for a step, because the last peak then belongs to other
// settings.
func (p *Page) wanted() (question, bool) {
	t := p.Scene.Trace()
	q := question{program: p.Scene.Program, device: p.Scene.Index.Device().ID}
	last := t.LastMeasured(q.device)
	if last == nil {
		return q, false
	}
	var settings strings.Builder
	for _, o := range t.Live.Options {
		if slices.ContainsFunc(last.Settings, func(v trace.Value) bool { return v.Key == o.Key && v.Value != o.Value }) {
			return q, false
		}
		fmt.Fprintf(&settings, "%s=%s ", o.Key, o.Value)
	}
	q.settings = settings.String()
	if q.trace = p.last.trace; q != p.last {
		q.trace = &trace.Trace{Info: t.Info, Steps: t.Steps, Live: t.Live}
	}
	return q, true
}

// Refresh asks the program when its settings have changed since the last
// question.
func (p *Page) Refresh(w, h int) tea.Cmd {
	var cmd tea.Cmd
	if q, ok := p.wanted(); ok {
		p.last = q
		cmd = p.asked.Ask(q)
	}
	table, detail := areas(w, h)
	p.table.Place(table)
	if f, ok := p.asked.Answer(); ok && f.err == nil && f != p.shown {
		p.shown = f
		p.table.Show(f.rows, page.Order{})
	}
	p.Detail.Resize(len(p.lines()), detail.H-1)
	return cmd
}

// use asks for the selected change from the next step on.
func (p *Page) use() tea.Cmd {
	r, ok := p.table.Current()
	if !ok {
		return nil
	}
	return page.Set(r.Change.Key, r.Change.Value)
}
