package page

import (
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/keys"
)

// Page is one page of the screen. Pages are pointers. The goroutine that updates
// the screen owns them. Each embeds a [Body], whose methods apply unless the page
// has its own.
type Page interface {
	// Update handles a key, a mouse message with coordinates within the page, or a
	// message that the page sent to itself.
	Update(msg tea.Msg) tea.Cmd
	// Refresh asks for all data that the page shows at its size and that is not
	// computed yet. The model calls it after every message while the page is
	// visible, and never otherwise.
	Refresh(w, h int) tea.Cmd
	// View draws the page into exactly w×h cells. It changes nothing and
	// computes nothing over events.
	View(w, h int) string
	// Help returns the page's keys.
	Help() []keys.Group
	// Short returns the few keys for the bottom line.
	Short() []key.Binding
	// Prompting returns the open prompt, nil when there is none.
	Prompting() *Prompt
	// EndPrompt closes it.
	EndPrompt()
	// Back undoes one step inside the page, such as a filter, and reports whether
	// there was one. Without one the user leaves the page.
	Back() bool
	// Maximise shows only the focused pane, or all panes again.
	Maximise()
	// Pace returns the shortest time between two redraws for new data on w×h cells,
	// for a page on which new data changes nearly everything: it need not redraw
	// faster than a user can read. The time grows with the number of cells, so that
	// the bytes per second do not.
	Pace(w, h int) time.Duration
	// Lacks says what the page needs and will never get, "" when it has it or may
	// still get it. It depends only on the scene. A page that lacks something is
	// never visible.
	Lacks() string
	// Rebase follows the scene to another index, in which each event's number is
	// lower by earlier: the numbers of a running program's events move down when the
	// oldest events are dropped. The page must drop everything that it made from the
	// old index, even a hidden page. Its open questions are already forgotten.
	Rebase(earlier int)
}

// Go is the message that asks to show another page.
type Go struct{ Page string }

// Note is the message that shows a line at the bottom until the next key.
type Note struct{ Text string }

// Copied returns a command that puts text on the terminal's clipboard (OSC 52)
// and says so.
func Copied(text, what string) tea.Cmd {
	return tea.Batch(tea.SetClipboard(trace.PrintableLines(text)), Say("copied "+what))
}

// Say returns a command that shows a note.
func Say(text string) tea.Cmd { return func() tea.Msg { return Note{text} } }

// Open returns a command that goes to a page.
func Open(name string) tea.Cmd { return func() tea.Msg { return Go{name} } }

// The names of pages to which other pages lead.
const (
	Overview = "overview"
	Tensors  = "tensors"
	Timeline = "timeline"
	Segments = "segments"
	Events   = "events"
	Ranks    = "ranks"
)
