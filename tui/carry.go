package tui

import (
	"sort"

	"github.com/memtop/memtop/tui/page"
)

// moment is the place of the cursor in one rank, in terms that also hold in
// another rank, whose events have other numbers.
type moment struct {
	known     bool
	following bool
	step      int64 // the step of the event, 0 for none
	time      int64 // of the event, microseconds since the epoch, 0 when it has none
}

// momentOf returns the place of a scene's cursor. It returns none if the user has
// not moved the cursor: then each rank begins where a user in a hurry wants it.
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

// apply moves a scene's cursor to a moment: to the event at that time, inside the
// step of that number if there is one, or else to the end of that step.
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
		return // the two ranks have no common step or time
	}
	at := to - 1
	if m.time > 0 {
		events := s.Events()
		at = max(from+sort.Search(to-from, func(i int) bool { return events.At(from+i).Time > m.time })-1, from)
	}
	s.Move(at)
}
