package page

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
)

// Keys are the keys that a page answers.
type Keys struct {
	Motion keys.Motion
	Pane   keys.Pane
	own    []Key
	acting []key.Binding // the page's own keys, then those of Pane
	moving []key.Binding
}

// Key is a key of one page, with its action.
type Key struct {
	key.Binding
	Do func() tea.Cmd
}

// NewKey returns a key of a page. Other keys may do the same.
func NewKey(name, does string, do func() tea.Cmd, others ...string) Key {
	return Key{keys.New(name, does, append([]string{name}, others...)...), do}
}

// Act makes the action of a key that returns no command.
func Act(act func()) func() tea.Cmd {
	return func() tea.Cmd {
		act()
		return nil
	}
}

// Turn makes the action of a key that toggles a value.
func Turn(on *bool) func() tea.Cmd { return Act(func() { *on = !*on }) }

// Bind gives a page its own keys. The page describes the shared keys before it
// calls Bind.
func (k *Keys) Bind(own ...Key) {
	k.own, k.moving = own, k.Motion.Bindings()
	for i := range own {
		k.acting = append(k.acting, own[i].Binding)
	}
	k.acting = append(k.acting, k.Pane.Bindings()...)
}

// Hints returns keys with short words for the bottom line. A hint is a key, a space
// and the words.
func (k *Keys) Hints(hints ...string) []key.Binding {
	all := make([]key.Binding, len(hints))
	for i, hint := range hints {
		name, does, _ := strings.Cut(hint, " ")
		all[i] = keys.Short(k.named(name), does)
	}
	return all
}

func (k *Keys) named(name string) key.Binding {
	for _, list := range [...][]key.Binding{k.acting, k.moving} {
		for _, b := range list {
			if slices.Contains(b.Keys(), name) {
				return b
			}
		}
	}
	panic("page: a hint for a key that the page does not have: " + name)
}

// pressed returns the page's own key for a message, nil for none.
func (k *Keys) pressed(msg tea.KeyPressMsg) *Key {
	name := msg.String() // called once: each call builds a new string
	at := slices.IndexFunc(k.own, func(own Key) bool { return own.Enabled() && slices.Contains(own.Keys(), name) })
	if at < 0 {
		return nil
	}
	return &k.own[at]
}
