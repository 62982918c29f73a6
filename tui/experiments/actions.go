package experiments

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
)

// Update takes keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	click, ok := msg.(tea.MouseClickMsg)
	switch {
	case !ok:
		return p.Body.Update(msg)
	case p.shape.changes.Contains(click.X, click.Y):
		return p.table.Click(click)
	case p.shape.brief && p.shape.options.Contains(click.X, click.Y):
		p.turn()
	case p.focus == choices:
		return p.choices.Click(click)
	default:
		return p.options.Click(click)
	}
	return nil
}

// turn goes to the other list.
func (p *Page) turn() {
	if p.focus == changes {
		p.look(options)
	} else {
		p.look(changes)
	}
}

// visit goes to the selected change's place in time.
func (p *Page) visit() tea.Cmd {
	e := p.current()
	switch {
	case e == nil:
		return nil
	case e.Event < 0:
		return page.Say("this change has no event")
	}
	p.Scene.Move(e.Event)
	return page.Open(page.Timeline)
}

// choose lists the choices of the selected option.
func (p *Page) choose() tea.Cmd {
	o, ok := p.options.Current()
	switch {
	case !ok:
		return nil
	case p.fixed() != "":
		return page.Say(p.fixed())
	case len(o.Choices) == 0:
		return p.ask(&o)
	}
	p.look(choices)
	p.key = o.Key
	p.choices.Show(entries(&o), page.Order{})
	p.choices.To(max(slices.Index(o.Choices, o.Value), 0))
	return nil
}

// fixed says why settings cannot be changed, "" when they can.
func (p *Page) fixed() string {
	switch t := p.Scene.Trace(); {
	case t.Info.Kind == "recording":
		return "this is a recording: nothing runs that could be changed"
	case p.Scene.ReadOnly:
		return "nothing can be changed: memtop was started with --read-only"
	case !t.Live.Connected && t.Live.Note != "":
		return "nothing can be changed: " + t.Live.Note
	case !t.Live.Connected:
		return "nothing can be changed: the connection is lost"
	case !t.Info.Control:
		return "the program takes no settings from here"
	}
	return ""
}

// use asks for the selected choice.
func (p *Page) use() tea.Cmd {
	o := p.option()
	if o == nil {
		return nil
	}
	p.focus = options
	if at := p.choices.Cursor; at < len(o.Choices) {
		return page.Set(o.Key, o.Choices[at])
	}
	return p.ask(o)
}

// ask lets the user type a value. The prompt is empty, because the value should
// differ from the choices.
func (p *Page) ask(o *trace.Option) tea.Cmd {
	name := o.Key
	if !o.Free {
		return page.Say(name + " has no other value")
	}
	text := o.Value
	if slices.Contains(o.Choices, text) {
		text = ""
	}
	p.Ask(name, text, "enter: from the next step on", func(text string) tea.Cmd {
		if text == "" {
			return nil
		}
		return page.Set(name, text)
	})
	return nil
}
