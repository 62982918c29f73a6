package tui

import (
	"slices"
	"strconv"
	"strings"

	"charm.land/bubbles/v2/key"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// place draws the second row: device, the cursor's event, and the levels there.
func (m *Model) place(c screen.Canvas) {
	f := m.file()
	v := f.current()
	if v == nil {
		c.Text(1, 1, waitingWord[f.state], screen.Dim)
		return
	}
	room := m.placeRight(c, f, v.scene)
	x := 1
	if v.scene.Live() == nil || len(f.trace.Devices) > 1 {
		x = c.Text(x, 1, deviceLabel(f), screen.Strong)
	}
	if other := f.shortElsewhere(); other != "" {
		x = c.Text(x, 1, " · ", screen.Dim)
		x = c.Text(x, 1, other, screen.Bad)
	}
	drawParts(c, x, room, placeParts(v.scene))
}

// drawParts draws parts on the second row with dots between them, as many as end before
// a column.
func drawParts(c screen.Canvas, x, end int, parts []string) {
	for i, part := range parts {
		between := " · "
		switch {
		case x == 1:
			between = ""
		case i > 0 && strings.HasPrefix(part, "of "):
			between = " " // continues the last part
		}
		if x+screen.Width(between)+screen.Width(part) > end {
			return
		}
		x = c.Text(x, 1, between, screen.Dim)
		x = c.Text(x, 1, part, screen.Plain)
	}
}

// placeRight draws the right end of the second row: the file's name if the first
// row has no room for it, and how far the display is from the present. It returns
// the column before which the rest must end.
func (m *Model) placeRight(c screen.Canvas, f *file, s *page.Scene) int {
	text, style := "", screen.Title
	if state, bad := m.stateText(f, s); bad {
		text, style = state, screen.Bad
	} else if state != "" {
		text = state
		if !strings.HasPrefix(state, live) {
			style = screen.Warn
		}
	} else if m.nameBelow() {
		text, style = m.fileLabel(m.w/3), screen.Strong
	}
	text = screen.Truncate(text, m.w*2/3)
	c.Right(0, 1, m.w-1, text, style)
	if text == "" {
		return m.w - 1
	}
	return m.w - 3 - screen.Width(text)
}

func deviceLabel(f *file) string {
	label := "device " + strconv.Itoa(f.device)
	if n := len(f.trace.Devices); n > 1 {
		label += " of " + strconv.Itoa(n)
	}
	return label
}

// shortElsewhere names the first other device that ran out of memory: a user who
// asked for another device must not miss it.
func (f *file) shortElsewhere() string {
	for _, s := range f.short {
		if s.Device != f.device {
			return "device " + strconv.Itoa(s.Device) + ": out of memory"
		}
	}
	return ""
}

// placeParts returns the facts about the cursor's place, the most important
// first.
func placeParts(s *page.Scene) []string {
	if s.Live() != nil {
		return liveParts(s)
	}
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
	return slices.ContainsFunc(s.OOMs, func(o analysis.OOM) bool { return o.Event == at })
}

var waitingWord = [...]string{
	idle: "", loading: "loading", empty: "waiting for its first allocation", indexing: "reading the events", ready: "", failed: "not loaded", cancelled: "cancelled",
}

// shortKeys returns the page's keys for the bottom line.
func (m *Model) shortKeys() []key.Binding {
	if m.whatIf.open {
		return m.whatIf.short()
	}
	if p := m.visible(); p != nil {
		return p.Short()
	}
	return []key.Binding{*m.global.of("esc")}
}

// describe joins parts with a middle dot, leaving out empty ones.
func describe(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " · ")
}
