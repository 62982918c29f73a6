package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/page"
)

// rivalOf returns the file with which another is compared, nil when no other is
// open.
func (m *Model) rivalOf(f *file) *file {
	if len(m.files) < 2 {
		return nil
	}
	return m.files[(slices.Index(m.files, f)+1)%len(m.files)]
}

// introduce lets the pages of a file ask for the other file.
func (m *Model) introduce(f *file, s *page.Scene) {
	rival := m.rivalOf(f)
	if rival == nil {
		return
	}
	first := slices.Index(m.files, rival) < slices.Index(m.files, f)
	s.Rival = func() *page.Rival {
		r := &page.Rival{Name: rival.name, Own: f.name, First: first}
		switch v := rival.current(); {
		case v != nil:
			r.Scene = v.scene
		case rival.err != nil:
			r.Why = rival.err.Error()
		case rival.state == cancelled:
			r.Why = "reading it was cancelled"
		}
		return r
	}
}

// readRival reads the file with which the shown one is compared, unless it was
// read.
func (m *Model) readRival() tea.Cmd {
	if rival := m.rivalOf(m.file()); rival != nil && rival.state == idle {
		return tea.Batch(m.load(rival), m.looked(rival))
	}
	return nil
}
