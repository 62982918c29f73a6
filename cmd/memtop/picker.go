package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// picker lets the user choose among processes.
type picker struct {
	head   string
	rows   []string
	others []string // why there are no more
	cursor int
	width  int
	left   bool // without a choice
}

// errLeft is the user who does not want any of the processes. That is no
// failure.
var errLeft = errors.New("no process was chosen")

// pick asks the user which process is meant, and shows why others cannot be.
func (s *screen) pick(ctx context.Context, processes []attach.Process, others []string) (attach.Process, error) {
	var rows []listed
	for _, p := range processes {
		row := rowsOf(p)[0] // one for the process is enough
		if r := row.Rank; r != nil && r.World > 1 {
			row.Command, row.Rank = fmt.Sprintf("%d ranks of %s", r.World, row.Command), nil
		}
		rows = append(rows, row)
	}
	var text strings.Builder
	if err := writeRows(trace.PrintableText(&text), rows); err != nil {
		return attach.Process{}, err
	}
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	p := &picker{head: lines[0], rows: lines[1:], others: others}
	if err := s.show(ctx, p); err != nil {
		return attach.Process{}, err
	}
	if p.left {
		return attach.Process{}, errLeft
	}
	return processes[p.cursor], nil
}

// Init does nothing: the processes are known.
func (p *picker) Init() tea.Cmd { return nil }

// Update moves the cursor.
func (p *picker) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
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
func (p *picker) View() tea.View {
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
