package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/memtop/memtop/snapshots/trace"
)

// Choice lets the user choose among processes.
type Choice struct {
	head   string
	rows   []string
	others []string // why other processes are missing
	cursor int
	width  int
	left   bool // the user left without a choice
}

// NewChoice returns a choice among rows below their head, and below them why
// other processes are missing.
func NewChoice(head string, rows, others []string) *Choice {
	return &Choice{head: head, rows: rows, others: others}
}

// Chosen returns the row that the user chose, and whether there is one.
func (p *Choice) Chosen() (row int, ok bool) { return p.cursor, !p.left }

// Init does nothing: the processes are known.
func (p *Choice) Init() tea.Cmd { return nil }

// Update moves the cursor.
func (p *Choice) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.width = msg.Width
	case tea.KeyPressMsg:
		switch msg.String() {
		case "up", "k":
			p.cursor = max(0, p.cursor-1)
		case "down", "j", "tab":
			p.cursor = min(len(p.rows)-1, p.cursor+1)
		case "enter":
			return p, tea.Quit
		case "ctrl+c":
			return p, tea.Interrupt
		case "q", "esc":
			p.left = true
			return p, tea.Quit
		}
	}
	return p, nil
}

// View draws the list, the cursor as a mark before its row.
func (p *Choice) View() tea.View {
	var b strings.Builder
	line := func(text string) { b.WriteString(ansi.Truncate(text, max(p.width, 1), "") + "\n") }
	line("Which process?  ↑ ↓ choose   enter attaches   q leaves")
	line("  " + p.head)
	for i, row := range p.rows {
		mark := "  "
		if i == p.cursor {
			mark = "> "
		}
		line(mark + row)
	}
	for _, other := range p.others {
		for part := range strings.SplitSeq(ansi.Wordwrap(trace.Printable(other), max(p.width-2, 1), ""), "\n") {
			line("  " + part)
		}
	}
	return tea.NewView(b.String())
}

// Question asks the user whether to go on.
type Question struct {
	Text  string
	width int
	Yes   bool // the answer was yes
}

// Init does nothing: the question is known.
func (q *Question) Init() tea.Cmd { return nil }

// Update takes the answer.
func (q *Question) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		q.width = msg.Width
	case tea.KeyPressMsg:
		switch msg.String() {
		case "y", "Y":
			q.Yes = true
			return q, tea.Quit
		case "ctrl+c":
			return q, tea.Interrupt
		case "n", "N", "q", "esc":
			return q, tea.Quit
		}
	}
	return q, nil
}

// View draws the question.
func (q *Question) View() tea.View {
	v := tea.NewView(ansi.Wordwrap(q.Text, max(q.width, 1), ""))
	v.AltScreen = true
	return v
}
