package page

import (
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/trace"
)

// ChangeSetting is the message that asks to change a setting of the running
// program from its next step on. The model asks the user for confirmation if
// needed, and shows the result.
type ChangeSetting struct{ trace.Value }

// Undo is the message that asks to undo the last change.
type Undo struct{}

// Set returns a command that asks to change a setting.
func Set(key, value string) tea.Cmd {
	return func() tea.Msg { return ChangeSetting{trace.Value{Key: key, Value: value}} }
}

// LayerChooser is a page whose rows stand for layers. On such a row the keys of
// settings that take layers change only that layer.
type LayerChooser interface {
	// Choose toggles a setting, checkpoint or host, for the selected layer: it
	// returns the new value, given the value now. The first choice of the setting
	// stands for no layer. It is false when no layer is selected.
	Choose(o *trace.Option, now string) (value string, ok bool)
}
