package page

import tea "charm.land/bubbletea/v2"

// ChangeSetting is the message that asks for another value of a setting of the
// running program, from its next step on. The model asks the reader first when
// that is due, and shows what became of it.
type ChangeSetting struct{ Key, Value string }

// Undo is the message that asks for the last change to be undone.
type Undo struct{}

// Set returns a command that asks for another value of a setting.
func Set(key, value string) tea.Cmd { return func() tea.Msg { return ChangeSetting{key, value} } }
