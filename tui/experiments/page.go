// Package experiments is the page of what was changed while a program ran: what
// each change was expected to do, and what it did. It also lists what may be
// changed.
package experiments

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
	"memtop/tui/ask"
	"memtop/tui/page"
)

// pane is a list that the keys can move in.
type pane uint8

const (
	changes pane = iota
	options
	choices // of one option, in the place of options
)

// question is what is wanted of the index.
type question struct{ index page.Edition }

// Page is the page of experiments.
type Page struct {
	scene  *page.Scene
	keys   keyMap
	asked  *ask.One[question, []analysis.Experiment]
	rows   []analysis.Experiment // the newest first
	focus  pane
	moved  bool // somebody chose the pane
	lists  [choices + 1]page.List
	newest int64  // of the changes that were listed so far
	key    string // the option whose choices are listed
	prompt *page.Prompt
	detail page.Reader
	alone  bool
	shape  shape
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{scene: s, keys: newKeyMap(s), focus: options}
	p.asked = ask.New(s.Gate, func(_ context.Context, q question) []analysis.Experiment {
		rows := q.index.Experiments()
		slices.Reverse(rows)
		return rows
	})
	return p
}

// Prompting returns the open prompt.
func (p *Page) Prompting() *page.Prompt { return p.prompt }

// EndPrompt closes the prompt.
func (p *Page) EndPrompt() { p.prompt = nil }

// Maximise shows the focused list alone, or all of them again.
func (p *Page) Maximise() { p.alone = !p.alone }

// Back leaves the choices.
func (p *Page) Back() bool {
	if p.focus != choices {
		return false
	}
	p.focus = options
	return true
}

// Refresh asks what the changes did.
func (p *Page) Refresh(w, h int) tea.Cmd {
	if p.scene.Live() == nil {
		return nil
	}
	cmd := p.asked.Ask(question{p.scene.Edition()})
	if rows, ok := p.asked.Answer(); ok {
		p.take(rows)
	}
	if p.focus == choices && p.option() == nil {
		p.focus = options
	}
	p.shape = p.newShape(w, h)
	p.list(changes).Resize(len(p.rows), p.shape.changes.H-2)
	p.list(options).Resize(len(p.scene.Live().Options), p.shape.options.H-1)
	if o := p.option(); o != nil {
		p.list(choices).Resize(len(entries(o)), p.shape.options.H-1)
	}
	p.detail.Resize(len(p.detailLines()), p.shape.detail.H-1)
	return cmd
}

// take shows the experiments and selects a change that is new: whoever made it
// wants to see what becomes of it.
func (p *Page) take(rows []analysis.Experiment) {
	list := p.list(changes)
	var selected int64
	if e := p.current(); e != nil {
		selected = e.ID
	}
	p.rows = rows
	list.Resize(len(rows), max(list.Height, 1))
	if len(rows) == 0 {
		return
	}
	if rows[0].ID > p.newest {
		if !p.moved {
			p.focus = changes
		}
		p.newest, selected = rows[0].ID, rows[0].ID
	}
	if i := slices.IndexFunc(rows, func(e analysis.Experiment) bool { return e.ID == selected }); i >= 0 {
		list.Center(i)
	}
}

func (p *Page) list(of pane) *page.List { return &p.lists[of] }

// current returns the selected change, nil when there is none.
func (p *Page) current() *analysis.Experiment {
	if at := p.list(changes).Cursor; at < len(p.rows) {
		return &p.rows[at]
	}
	return nil
}

// offered returns the selected option, nil when there is none.
func (p *Page) offered() *trace.Option {
	all := p.scene.Live().Options
	if at := p.list(options).Cursor; at < len(all) {
		return &all[at]
	}
	return nil
}

// option returns the option whose choices are listed, nil when none are.
func (p *Page) option() *trace.Option {
	if p.focus != choices {
		return nil
	}
	for i := range p.scene.Live().Options {
		if o := &p.scene.Live().Options[i]; o.Key == p.key {
			return o
		}
	}
	return nil
}

// other stands in the list of choices for a value that is typed.
const other = "another value …"

// entries are what can be chosen of an option.
func entries(o *trace.Option) []string {
	list := slices.Clone(o.Choices)
	if o.Free {
		list = append(list, other)
	}
	return list
}
