package page

import (
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/trace"
)

// ChangeSettings is the message that asks for other values of settings of the
// running program, from its next step on. The model asks the reader first when
// that is due, once for all of them, and shows what became of the last.
type ChangeSettings struct{ Values []trace.Value }

// Undo is the message that asks for the last change to be undone.
type Undo struct{}

// Set returns a command that asks for another value of a setting.
func Set(key, value string) tea.Cmd { return SetAll([]trace.Value{{Key: key, Value: value}}) }

// SetAll returns a command that asks for other values of settings.
func SetAll(values []trace.Value) tea.Cmd {
	return func() tea.Msg { return ChangeSettings{values} }
}

// Checkpointer is a page whose rows stand for layers. On one of them the key for
// checkpointing changes that layer alone, where the program takes layers by name.
type Checkpointer interface {
	// Checkpoint returns the value of the setting that has the selected layer
	// computed again if it is kept and kept if it is computed again. now is the
	// value before. It is false when no layer is selected.
	Checkpoint(now string) (value string, ok bool)
}
