package page

import (
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/keys"
)

// Page is one page of the screen. Pages are pointers, owned by the goroutine
// that updates the screen. Each embeds a [Body], which answers for it unless the page
// has a method of its own.
type Page interface {
	// Update takes a key, a mouse message with coordinates within the page, or
	// a message that the page sent itself.
	Update(msg tea.Msg) tea.Cmd
	// Refresh asks for whatever the page shows at its size and has not been
	// computed. It is called after every message while the page is visible,
	// and never while it is not.
	Refresh(w, h int) tea.Cmd
	// View draws the page into exactly w×h cells. It changes nothing and
	// computes nothing over events.
	View(w, h int) string
	// Help returns the page's keys.
	Help() []keys.Group
	// Short returns the few keys that the bottom line shows.
	Short() []key.Binding
	// Prompting returns the open prompt, nil when there is none.
	Prompting() *Prompt
	// EndPrompt closes it.
	EndPrompt()
	// Back leaves something before the page is left, and reports whether there was
	// something.
	Back() bool
	// Maximise shows the focused pane alone, or all panes again.
	Maximise()
	// Pace returns how much time is between two drawings of what is new on w×h
	// cells, at least, of a page of which nearly everything moves then: faster than it
	// can be read it need not be drawn. It grows with the cells, so that the bytes do not.
	Pace(w, h int) time.Duration
	// Lacks says what the page would need and will never get, "" when it has it
	// or may yet. It depends on the scene alone. A page that lacks something is never
	// visible.
	Lacks() string
	// Rebase follows the scene to another index, in which each event is found so
	// many earlier: the numbers of a running program's events move down when the
	// oldest of them are let go. Nothing that was made of them may be held any more, not by
	// a hidden page either. What the page asked was forgotten.
	Rebase(earlier int)
}

// Go is the message that asks for another page.
type Go struct{ Page string }

// Note is the message that shows a line at the bottom until the next key.
type Note struct{ Text string }

// Copied returns a command that puts text on the clipboard of the terminal
// (OSC 52) and says so.
func Copied(text, what string) tea.Cmd {
	return tea.Batch(tea.SetClipboard(trace.PrintableLines(text)), Say("copied "+what))
}

// Say returns a command that shows a note.
func Say(text string) tea.Cmd { return func() tea.Msg { return Note{text} } }

// Open returns a command that goes to a page.
func Open(name string) tea.Cmd { return func() tea.Msg { return Go{name} } }

// The names of the pages that others lead to.
const (
	Overview = "overview"
	Tensors  = "tensors"
	Timeline = "timeline"
	Segments = "segments"
	Events   = "events"
	Ranks    = "ranks"
)
