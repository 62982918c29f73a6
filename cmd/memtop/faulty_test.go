package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// faults are what a faulty screen does once a key is pressed.
var faults = map[string]func() tea.Cmd{
	"update":   func() tea.Cmd { panic("in Update") },
	"view":     func() tea.Cmd { return nil }, // the next one panics
	"command":  func() tea.Cmd { return failing },
	"batch":    func() tea.Cmd { return tea.Batch(failing, failing) },
	"sequence": func() tea.Cmd { return tea.Sequence(pausing, failing) },
}

func failing() tea.Msg { panic("in a command") }

func pausing() tea.Msg { return nil }

// faulty runs memtop with a screen that fails as its first argument says, and
// with the second as its log.
func faulty() {
	a := newApp(os.Stdout, os.Stderr)
	if len(os.Args) > 2 {
		a.settings.log = os.Args[2]
	}
	if err := a.openLog(); err != nil {
		panic(err)
	}
	os.Exit(a.supervise(func(ctx context.Context) error { return a.show(ctx, &faultyScreen{fault: os.Args[1]}) }))
}

// faultyScreen is a screen with a mistake.
type faultyScreen struct {
	fault   string
	pressed bool
	drawn   int
}

type nextMsg struct{}

func (s *faultyScreen) Init() tea.Cmd { return nil }

func (s *faultyScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg.(type) {
	case tea.KeyPressMsg:
		s.pressed = true
		if fault, ok := faults[s.fault]; ok {
			return s, fault()
		}
		return s, next
	case nextMsg:
		if s.fault == "hang" {
			select {}
		}
		return s, next
	}
	return s, nil
}

func next() tea.Msg {
	<-time.After(time.Millisecond)
	return nextMsg{}
}

// View requests everything that the screens of memtop request.
func (s *faultyScreen) View() tea.View {
	s.drawn++
	text := "a screen"
	switch {
	case s.pressed && s.fault == "view":
		panic("in View")
	case s.pressed && s.fault == "hang":
		text = "hanging"
	case s.pressed && s.fault == "flood":
		text = strings.Repeat(strings.Repeat(fmt.Sprint(s.drawn%10), 100)+"\n", 29)
	}
	v := tea.NewView(text)
	v.AltScreen, v.MouseMode = true, tea.MouseModeCellMotion
	return v
}
