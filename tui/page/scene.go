// Package page is what a page of the screen is and what all pages share: the
// scene they show, the messages by which they ask for something outside of
// themselves, and the widgets they are made of.
package page

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/screen"
)

// Scene is what is being looked at: one device of one file or process, and the
// one cursor that all pages share. It is owned by the goroutine that updates
// the screen. Commands take an [Edition] out of it and read it behind Gate:
// while none of them does, the index of a running program grows.
type Scene struct {
	Theme   *screen.Theme
	Index   *analysis.Index
	Gate    *ask.Gate // what every question about Index is asked behind
	Summary analysis.Summary
	OOMs    []analysis.OOM
	Marks   []Mark // the ends of Ranges, and settings that changed, in the order of events
	Ranges  []analysis.Mark
	Steps   []analysis.Step
	// LastStep is the last step of a program that ended, nil when none is known.
	LastStep *analysis.LastStep
	// Following says that the cursor goes along with the last event.
	Following bool
	ReadOnly  bool // the reader may change nothing of the program
	// Program can be asked what changes of its settings would do; nil where there is
	// none, or it lets nothing be changed.
	Program proposals.Program
	// WhatIf replays requests under other settings of the allocator; nil where that
	// is not to be had.
	WhatIf whatif.Ask
	// Past returns what became of past predictions.
	Past func(t *trace.Trace, device int) proposals.Ledger
	// Rival returns what another open file has to compare with; nil when none is open.
	Rival   func() *Rival
	cursor  int
	home    int // where the cursor was at first
	version int
	changes []Mark // settings that changed, among the events read so far
	read    int    // how many events changes are of
}

// Edition is an index as far as it had come at one time. It is part of every
// question about the index, so that a longer trace is a new question.
type Edition struct {
	*analysis.Index
	version int
}

// NewScene returns a scene with the cursor where a reader in a hurry wants it:
// of a running program now; else at the last event that ran out of memory, see
// [analysis.Shortage]; else of a recording at the end, where it shows what was
// seen last; else at the peak.
func NewScene(t *screen.Theme, x *analysis.Index) *Scene {
	s := &Scene{Theme: t, Index: x, Gate: new(ask.Gate)}
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

// Moved reports whether the cursor is elsewhere than at first.
func (s *Scene) Moved() bool { return s.cursor != s.home }

// update takes from the index what pages want to know at once.
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

// LacksHistory says what a file without events lacks, "" when there are or may yet be
// some.
func (s *Scene) LacksHistory() string {
	if s.Index.History() || s.Live() != nil {
		return ""
	}
	return "The file holds one state and no history: 5 shows segments, 6 stacks"
}

// Uncached is what stands where segments would be on a device without a caching
// allocator.
const Uncached = "this device has no caching allocator: it has no segments, and nothing is cached or fragmented"

// Edition returns the index as it is now.
func (s *Scene) Edition() Edition { return Edition{s.Index, s.version} }

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

// Move puts the cursor at an event, or as near to it as there is one. At the
// end of what still grows it begins to follow, anywhere else it stops.
func (s *Scene) Move(event int) {
	s.cursor = min(max(event, -1), s.Last())
	s.Following = s.Growing() && s.cursor == s.Last()
}

// AtEnd reports whether the cursor is where nothing comes after it.
func (s *Scene) AtEnd() bool { return s.cursor == s.Last() }

// Follow puts the cursor at the end and keeps it there while more comes.
func (s *Scene) Follow() { s.Move(s.Last()) }

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
