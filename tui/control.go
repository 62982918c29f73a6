package tui

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

// # Control
//
// Seven keys, and the page of experiments, change settings of the running program
// from its next step on. The first change of a session is asked about. The model
// sends changes one at a time in the order of the keys, because commands run in
// no order. If a key is pressed again before its change was sent, the new change
// replaces it. The bottom line of every page shows the result of the last change
// long enough to read it.

// control holds the changes that the user wants in the running programs. The
// goroutine that updates the screen owns it.
type control struct {
	keys   []controlKey
	agreed bool  // the user agreed to the first change of this session, or need not
	asking *wish // the change that waits for y or n, nil for none
	// foreseen is the program's prediction for asking.
	foreseen foreseen
	queue    []wish // to be sent; the first is on its way when sending is set
	sending  bool
	asked    map[*file][]accepted
	touched  []touched
	notice   *notice // the notice on the bottom line, nil for none
	// outcomes measures the effect of the notice's change; lastAsked is its last
	// question.
	outcomes  *ask.One[outcomeQuestion, analysis.Experiment]
	lastAsked outcomeQuestion
	look      func() tea.Cmd // waits a while and sends a lookMsg
	looking   bool           // a lookMsg is on its way
}

// controlKey is a key that changes the running program, and what it does to a file
// whose program takes settings.
type controlKey struct {
	key.Binding
	press func(m *Model, f *file, by string) tea.Cmd
}

func newControl(own bool) control {
	of := func(setting string, press func(*Model, *file, string, string) tea.Cmd) func(*Model, *file, string) tea.Cmd {
		return func(m *Model, f *file, by string) tea.Cmd { return press(m, f, by, setting) }
	}
	return control{agreed: own, asked: make(map[*file][]accepted), outcomes: newOutcomes(), look: look, keys: []controlKey{
		{keys.New("C", "checkpointing: next choice; on a row of Layers, that layer only", "C"), of("checkpoint", (*Model).chooseLayer)},
		{keys.New("A", "mixed precision: the next choice", "A"), of("amp", (*Model).cycle)},
		{keys.New("O", "optimizer: the next choice", "O"), of("optimizer", (*Model).cycle)},
		{keys.New("P", "on a row of Layers: the processor computes that layer", "P"), of("host", (*Model).chooseLayer)},
		{keys.New("S", "sharding stage: the next choice", "S"), of("shard", (*Model).cycle)},
		{keys.New("F", "return unused cached memory to the driver, once", "F"), (*Model).empty},
		{keys.New("U", "undo the last change", "U"), (*Model).undo},
	}}
}

// wish is a change that the user wants.
type wish struct {
	file             *file
	by               string // the key that was pressed
	key, from, value string
	once             bool // an action, not a setting
	ranks            int  // the number of ranks that it changes, 0 for a single program
}

// controlKey handles the keys that change the running program.
func (m *Model) controlKey(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	for _, k := range m.control.keys {
		if matches(msg, k.Binding) {
			return m.ifMovable(k.Help().Key, k.press), true
		}
	}
	m.control.notice.read(m.now())
	return nil, false
}

// ifMovable does something to the shown file if its settings can be changed, else it
// says why not.
func (m *Model) ifMovable(by string, do func(*Model, *file, string) tea.Cmd) tea.Cmd {
	f := m.file()
	if why := m.immovable(f, by); why != "" {
		return page.Say(why)
	}
	return do(m, f, by)
}

// controlData handles the messages about changes.
func (m *Model) controlData(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case sentMsg:
		return tea.Batch(m.control.sent(msg), m.undone(msg)), true
	case foreseenMsg:
		m.control.foresee(msg)
		return nil, true
	case lookMsg:
		m.control.looking = false
		return nil, true
	case page.ChangeSetting:
		return m.want("", msg.Value), true
	case page.Undo:
		return m.ifMovable("U", (*Model).undo), true
	}
	return nil, false
}

// controlHelp returns the group of these keys for help, false if they can never
// do anything.
func (m *Model) controlHelp() (keys.Group, bool) {
	f := m.file()
	if m.options.ReadOnly || f.trace == nil || f.trace.Live == nil || f.trace.Info.Kind != "live" {
		return keys.Group{}, false
	}
	g := keys.Group{Title: "The running program, from its next step on"}
	for _, k := range m.control.keys {
		g.Bindings = append(g.Bindings, k.Binding)
	}
	return g, true
}

// chooseLayer asks to change a setting for the layer of the selected row on a page
// of layers, and elsewhere for its next choice.
func (m *Model) chooseLayer(f *file, by, setting string) tea.Cmd {
	if p, ok := m.visible().(page.LayerChooser); ok {
		if o := option(f, setting); o != nil && len(o.Choices) > 0 {
			value, ok := p.Choose(o, m.control.next(f, o))
			switch {
			case ok && o.Free:
				return m.want(by, trace.Value{Key: setting, Value: value})
			case ok:
				return page.Say("the program takes no layers by name: " + by + " on another page changes " + setting + " of all")
			}
		}
	}
	return m.cycle(f, by, setting)
}

// cycle asks for the choice after the current one.
func (m *Model) cycle(f *file, by, setting string) tea.Cmd {
	o := option(f, setting)
	if o == nil || len(o.Choices) < 2 {
		return page.Say("the program offers no choice of " + setting)
	}
	next := (slices.Index(o.Choices, m.control.next(f, o)) + 1) % len(o.Choices)
	return m.want(by, trace.Value{Key: setting, Value: o.Choices[next]})
}

// want asks for a value of a setting. It asks the user first if needed.
func (m *Model) want(by string, v trace.Value) tea.Cmd {
	f := m.file()
	if why := m.immovable(f, by); why != "" {
		return page.Say(why)
	}
	if option(f, v.Key) == nil {
		return page.Say("the program has no setting " + v.Key)
	}
	w, ok := m.control.wish(f, by, v.Key, v.Value)
	switch {
	case !ok:
		return page.Say(v.Key + " is " + v.Value + " already")
	case !m.control.agreed:
		return m.control.ask(&w)
	}
	return m.control.add(w)
}

// wish returns the change of a setting to a value, false if there is nothing to
// change.
func (c *control) wish(f *file, by, key, value string) (wish, bool) {
	o := option(f, key)
	if o == nil {
		return wish{}, false
	}
	from := c.next(f, o)
	ranks, _ := f.together()
	return wish{file: f, by: by, key: key, from: from, value: value, once: o.IsAction(from), ranks: ranks}, from != value
}

// empty asks to empty the allocator's cache.
func (m *Model) empty(f *file, by string) tea.Cmd {
	const setting, action = "action", "empty-cache"
	if o := option(f, setting); o == nil || !slices.Contains(o.Choices, action) {
		return page.Say("the program has no cache that could be emptied")
	}
	return m.want(by, trace.Value{Key: setting, Value: action})
}

// undo asks for the value before the last change that holds or waits.
func (m *Model) undo(f *file, by string) tea.Cmd {
	changes, done := m.control.changes(f), ""
	changes = slices.DeleteFunc(changes, func(c trace.Change) bool {
		o := option(f, c.Key)
		once := o != nil && o.IsAction(c.From)
		if once {
			done = c.To
		}
		return once
	})
	switch list := standing(changes); {
	case len(list) > 0:
		last := list[len(list)-1]
		return m.want(by, trace.Value{Key: last.Key, Value: last.From})
	case done != "":
		return page.Say(done + " is done once, and cannot be undone")
	}
	return page.Say("nothing was changed yet")
}

// standing returns the changes that can be undone, the last one last. A change
// and its undoing cancel each other. A change that was refused, or replaced
// before a step used it, never held: the next change then starts from the earlier
// value.
func standing(changes []trace.Change) []trace.Change {
	var list []trace.Change
	held := make(map[string]string)
	for _, c := range changes {
		if from, ok := held[c.Key]; ok {
			c.From = from
		} else {
			held[c.Key] = c.From
		}
		if c.State == trace.Refused || c.From == c.To {
			continue
		}
		held[c.Key] = c.To
		if n := len(list); n > 0 && list[n-1].Key == c.Key && list[n-1].From == c.To && list[n-1].To == c.From {
			list = list[:n-1]
			continue
		}
		list = append(list, c)
	}
	return list
}

// immovable says in one line why settings cannot be changed, "" when they can.
func (m *Model) immovable(f *file, by string) string {
	if f.state != ready {
		return by + " changes a running program, which is not here yet"
	}
	now := f.source.Trace()
	switch {
	case now.Live == nil:
		return by + " changes a running program; this is a file"
	case now.Info.Kind == "recording":
		return by + " changes a running program; this is a recording of one"
	case m.options.ReadOnly:
		return by + " changes nothing: memtop was started with --read-only"
	case !now.Live.Connected:
		return by + " changes nothing: " + lostText(now.Live)
	}
	if _, ok := f.source.(trace.Controller); !ok || !now.Info.Control {
		return by + " changes nothing: the program takes no settings"
	}
	return ""
}

func lostText(l *trace.Live) string {
	if l.Note != "" {
		return l.Note
	}
	return "the connection is lost"
}

// option returns the program's setting of that name, or nil.
func option(f *file, setting string) *trace.Option {
	live := f.source.Trace().Live
	i := slices.IndexFunc(live.Options, func(o trace.Option) bool { return o.Key == setting })
	if i < 0 {
		return nil
	}
	return &live.Options[i]
}
