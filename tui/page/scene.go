// Package page defines a page of the screen and has what all pages share: the
// scene that they show, the messages with which they ask the model for something,
// and the widgets that they are made of.
package page

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/screen"
)

// Scene is one device of one file or process, with the cursor that all pages
// share. The goroutine that updates the screen owns it. Commands take an
// [Edition] of it and read that behind Gate. The index of a running program grows
// only while no command reads it.
type Scene struct {
	Theme   *screen.Theme
	Index   *analysis.Index
	Gate    *ask.Gate // guards Index against growing while a question reads it
	Summary analysis.Summary
	OOMs    []analysis.OOM
	Marks   []Mark // begins and ends of Ranges, and changed settings, in the order of events
	Ranges  []analysis.Mark
	Steps   []analysis.Step
	// Pinned is the pinned host memory of a file, nil when it has none.
	Pinned *analysis.Pinned
	// LastStep is the last step of a program that has ended, nil when unknown.
	LastStep *analysis.LastStep
	// Following says that the cursor stays on the last event.
	Following bool
	ReadOnly  bool // the user may not change the program's settings
	// Program predicts what changes of its settings would do; nil without a program,
	// or if its settings cannot be changed.
	Program proposals.Program
	// WhatIf replays requests under other settings of the allocator; nil if that is
	// not available.
	WhatIf whatif.Ask
	// Rival returns the other open file for comparison; nil when none is open.
	Rival   func() *Rival
	cursor  int
	home    int // the first place of the cursor
	version int
	changes []Mark // settings that changed in the events read so far
	read    int    // how many events changes covers
}

// Edition is the version of an index at one time. It is part of every question
// about the index, so that a longer trace makes a new question.
type Edition struct {
	*analysis.Index
	version int
}

// NewScene returns a scene with the cursor where a user in a hurry wants it: for
// a running program at the current end; else at the last event that ran out of
// memory, see [analysis.Shortage]; else for a recording at its end; else at the
// peak.
func NewScene(t *screen.Theme, x *analysis.Index) *Scene {
	s := &Scene{Theme: t, Index: x, Gate: new(ask.Gate), Pinned: analysis.PinnedOf(x.Trace())}
	s.update()
	switch {
	case s.Growing():
		s.Follow()
	case len(s.OOMs) > 0:
		s.cursor = s.OOMs[len(s.OOMs)-1].Event
	case s.Live() != nil, !x.History():
		s.cursor = s.Last()
	default:
		s.cursor = s.Summary.PeakEvent
	}
	s.home = s.cursor
	return s
}

// Moved reports whether the cursor has left its first place.
func (s *Scene) Moved() bool { return s.cursor != s.home }

// update copies from the index the values that pages need without a question.
func (s *Scene) update() {
	x := s.Index
	s.version++
	s.Summary, s.OOMs, s.Ranges, s.Steps = x.Summary(), x.OOMs(), x.Marks(), x.Steps()
	if s.Live() != nil {
		s.LastStep = analysis.LastStepOf(x)
	}
	s.changes = append(s.changes, changesOf(x, s.read)...)
	s.read = s.Events().Len()
	s.Marks = marksOf(s.Ranges, s.changes)
	if s.Following {
		s.cursor = s.Last()
	}
}

// LacksHistory says that a file has no events, "" when it has or may still get
// some.
func (s *Scene) LacksHistory() string {
	if s.Index.History() || s.Live() != nil {
		return ""
	}
	return "The file holds one state and no history: 5 shows segments, 6 stacks"
}

// Uncached is the text in place of segments for a device without a caching
// allocator.
const Uncached = "this device has no caching allocator: it has no segments, and nothing is cached or fragmented"

// Edition returns the current version of the index.
func (s *Scene) Edition() Edition { return Edition{s.Index, s.version} }

// Trace returns the shown trace.
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

// Move puts the cursor at an event, or at the nearest one that exists. At the end
// of a growing trace the cursor begins to follow; anywhere else it stops
// following.
func (s *Scene) Move(event int) {
	s.cursor = min(max(event, -1), s.Last())
	s.Following = s.Growing() && s.cursor == s.Last()
}

// AtEnd reports whether the cursor is on the last event.
func (s *Scene) AtEnd() bool { return s.cursor == s.Last() }

// Follow puts the cursor at the end and keeps it there while the trace grows.
func (s *Scene) Follow() { s.Move(s.Last()) }

// Since returns the time of an event in microseconds after the first event, and
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
