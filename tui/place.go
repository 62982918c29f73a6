package tui

import (
	"strconv"
	"strings"

	"charm.land/bubbles/v2/key"

	"memtop/tui/page"
	"memtop/tui/screen"
)

// place draws the second row: device, the cursor's event, and the levels there.
func (m *Model) place(c screen.Canvas) {
	f := m.file()
	v := f.current()
	if v == nil {
		c.Text(1, 1, waitingWord[f.state], screen.Dim)
		return
	}
	x := c.Text(1, 1, deviceLabel(f), screen.Strong)
	for i, part := range placeParts(v.scene) {
		between := " · "
		if i > 0 && strings.HasPrefix(part, "of ") {
			between = " " // goes on where the last part ended
		}
		if x+screen.Width(between)+screen.Width(part) > m.w-1 {
			return
		}
		x = c.Text(x, 1, between, screen.Dim)
		x = c.Text(x, 1, part, screen.Plain)
	}
}

func deviceLabel(f *file) string {
	label := "device " + strconv.Itoa(f.trace.Devices[f.device].ID)
	if n := len(f.trace.Devices); n > 1 {
		label += " of " + strconv.Itoa(n)
	}
	return label
}

// placeParts returns what is worth saying of the cursor, the most important
// first.
func placeParts(s *page.Scene) []string {
	if !s.Index.History() {
		return []string{"state only, no history", screen.Bytes(s.Summary.Active) + " live of " + screen.Bytes(s.Summary.Reserved) + " reserved"}
	}
	at := s.Cursor()
	parts := []string{
		"at " + eventLabel(s, at),
		screen.Bytes(s.Index.RequestedAt(at)) + " live", "of " + screen.Bytes(s.Index.ReservedAt(at)) + " reserved",
	}
	if us, ok := s.Since(at); ok {
		parts = append(parts, "+"+screen.Micros(us))
	}
	if s.Index.Device().Overflowed {
		parts = append(parts, "older events lost")
	}
	return parts
}

// eventLabel names an event, and says so when it is a special one.
func eventLabel(s *page.Scene, at int) string {
	if at < 0 {
		return "the start"
	}
	label := "event " + screen.Count(at) + "/" + screen.Count(s.Last())
	switch {
	case isOOM(s, at):
		label += " (out of memory)"
	case at == s.Summary.PeakEvent:
		label += " (peak)"
	case at == s.Last():
		label += " (end)"
	}
	return label
}

func isOOM(s *page.Scene, at int) bool {
	for i := range s.OOMs {
		if s.OOMs[i].Event == at {
			return true
		}
	}
	return false
}

var waitingWord = [...]string{
	idle: "", loading: "loading", indexing: "reading the events", ready: "", failed: "not loaded", cancelled: "cancelled",
}

// shortKeys returns the page's keys for the bottom line.
func (m *Model) shortKeys() []key.Binding {
	if p := m.visible(); p != nil {
		return p.Short()
	}
	return []key.Binding{m.global.Back}
}

// describe joins parts with a middle dot, leaving out empty ones.
func describe(parts ...string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " · ")
}
