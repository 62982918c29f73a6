// Package page is what a page of the screen is and what all pages share: the
// scene they show, the messages by which they ask for something outside of
// themselves, and the widgets they are made of.
package page

import (
	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
	"memtop/tui/screen"
)

// Scene is what is being looked at: one device of one file, and the one cursor
// that all pages share. It is owned by the goroutine that updates the screen;
// commands take the index out of it, which never changes.
type Scene struct {
	Theme   *screen.Theme
	Index   *analysis.Index
	Summary analysis.Summary
	OOMs    []analysis.OOM
	Marks   []Mark // the ends of Ranges, in the order of events
	Ranges  []analysis.Mark
	Steps   []analysis.Step
	cursor  int
}

// NewScene returns a scene with the cursor where a reader in a hurry wants it:
// at the first event that ran out of memory, else at the peak.
func NewScene(t *screen.Theme, x *analysis.Index) *Scene {
	s := &Scene{Theme: t, Index: x, Summary: x.Summary(), OOMs: x.OOMs(), Marks: marksOf(x), Ranges: x.Marks(), Steps: x.Steps()}
	switch {
	case !x.History():
		s.cursor = s.Last()
	case len(s.OOMs) > 0:
		s.cursor = s.OOMs[0].Event
	default:
		s.cursor = s.Summary.PeakEvent
	}
	return s
}

// Trace returns the trace that is shown.
func (s *Scene) Trace() *trace.Trace { return s.Index.Trace() }

// Tables returns the trace's tables.
func (s *Scene) Tables() *trace.Tables { return s.Index.Trace().Tables }

// Events returns the device's events.
func (s *Scene) Events() trace.Events { return s.Index.Device().Events }

// Last returns the number of the last event, -1 when there is none.
func (s *Scene) Last() int { return s.Events().Len() - 1 }

// Cursor returns the event right after which everything is shown; -1 is before
// the first.
func (s *Scene) Cursor() int { return s.cursor }

// Move puts the cursor at an event, or as near to it as there is one.
func (s *Scene) Move(event int) { s.cursor = min(max(event, -1), s.Last()) }

// Since returns the time of an event in microseconds after the first, and
// whether the events have times.
func (s *Scene) Since(event int) (int64, bool) {
	events := s.Events()
	if event < 0 || event >= events.Len() {
		return 0, false
	}
	first, e := events.At(0), events.At(event)
	if first.Absent&trace.NoTime != 0 || e.Absent&trace.NoTime != 0 || e.Time == 0 {
		return 0, false
	}
	return e.Time - first.Time, true
}
