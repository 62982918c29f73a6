package experiments

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
)

// Update takes keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		if p.focus != changes && !p.Aside.Contains(msg.X, msg.Y) {
			p.list(p.focus).Wheel(msg)
			return nil
		}
	case tea.MouseClickMsg:
		return p.click(msg)
	}
	return p.Body.Update(msg)
}

// listKey handles the keys of the lists of settings and of choices, and the key
// that switches between them.
func (p *Page) listKey(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch k := &p.Keys; {
	case key.Matches(msg, k.Pane.Other):
		p.turn()
		return nil, true
	case p.focus == changes:
	case p.list(p.focus).Key(msg, k.Motion):
		p.Detail.Offset = 0
		return nil, true
	case key.Matches(msg, k.Pane.Open):
		return p.open(), true
	}
	return nil, false
}

// turn goes to the other list.
func (p *Page) turn() {
	if p.focus == changes {
		p.look(options)
	} else {
		p.look(changes)
	}
}

func (p *Page) click(msg tea.MouseClickMsg) tea.Cmd {
	switch {
	case p.shape.changes.Contains(msg.X, msg.Y):
		return p.table.Click(msg)
	case !p.shape.options.Contains(msg.X, msg.Y):
		return nil
	case p.focus == changes && p.shape.brief:
		p.turn()
		return nil
	}
	of := options
	if p.focus == choices {
		of = choices
	}
	list := p.list(of)
	was := list.Cursor
	if !list.Click(msg.Y - p.shape.options.Y - 1) {
		return nil
	}
	again := p.focus == of && was == list.Cursor
	p.look(of)
	if again {
		return p.open()
	}
	return nil
}

// open goes from an option to its choices, and uses a choice.
func (p *Page) open() tea.Cmd {
	if p.focus == options {
		return p.choose()
	}
	return p.use()
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
	o := p.offered()
	switch {
	case o == nil:
		return nil
	case p.fixed() != "":
		return page.Say(p.fixed())
	case len(o.Choices) == 0:
		return p.ask(o)
	}
	p.look(choices)
	p.key = o.Key
	p.list(choices).Resize(len(entries(o)), max(p.list(choices).Height, 1))
	p.list(choices).To(max(slices.Index(o.Choices, o.Value), 0))
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
	at := p.list(choices).Cursor
	p.focus = options
	if at < len(o.Choices) {
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
