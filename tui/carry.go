package tui

import (
	"sort"

	"github.com/memtop/memtop/tui/page"
)

// moment is where the cursor stands in one rank, in words that mean something in
// another, in which events have other numbers.
type moment struct {
	known     bool
	following bool
	step      int64 // that the event is of, 0 when it is of none
	time      int64 // of the event, microseconds since the epoch, 0 when it has none
}

// momentOf returns where a scene's cursor stands; it is not known where the reader has
// not moved it, so that each rank is shown from where a reader in a hurry wants it.
func momentOf(s *page.Scene) moment {
	at := s.Cursor()
	if s.Following {
		return moment{known: true, following: true}
	}
	if !s.Moved() || at < 0 {
		return moment{}
	}
	m := moment{known: true, time: s.Events().At(at).Time}
	if i := sort.Search(len(s.Steps), func(i int) bool { return s.Steps[i].To > at }); i < len(s.Steps) && s.Steps[i].From <= at {
		m.step = s.Steps[i].Number
	}
	return m
}

// apply moves a scene's cursor to a moment: to the event at that time, within the step
// of that number where there is one, or else to that step's end.
func (m moment) apply(s *page.Scene) {
	switch {
	case !m.known:
		return
	case m.following:
		s.Follow()
		return
	}
	from, to := 0, s.Events().Len()
	if i := sort.Search(len(s.Steps), func(i int) bool { return s.Steps[i].Number >= m.step }); m.step > 0 && i < len(s.Steps) && s.Steps[i].Number == m.step {
		from, to = s.Steps[i].From, s.Steps[i].To
	} else if m.time == 0 {
		return // nothing of the two ranks can be compared
	}
	at := to - 1
	if m.time > 0 {
		events := s.Events()
		at = max(from+sort.Search(to-from, func(i int) bool { return events.At(from+i).Time > m.time })-1, from)
	}
	s.Move(at)
}
