package page

import (
	"slices"
	"sort"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

// Growth
//
// A running program's trace is replaced by a longer one many times a second. The
// index reads only the new part, on the screen's goroutine, while no question
// reads the index. A trace that is shorter, or begins elsewhere than the last
// one, is not a continuation and needs a new index. A command makes that index,
// and the scene switches to it with its cursor on the same event if that is still
// there.

// Came is the result of taking a newer trace.
type Came uint8

// The newer trace was taken, or a question is reading the index, or the trace
// needs a new index.
const (
	Taken Came = iota
	Busy
	Broken
)

// Live returns the data about the running program, or nil for a snapshot.
// Recordings have it too.
func (s *Scene) Live() *trace.Live { return s.Trace().Live }

// Growing reports whether the trace may still grow.
func (s *Scene) Growing() bool { return s.Trace().Info.Growing }

// Advance takes a newer trace of the same device.
func (s *Scene) Advance(t *trace.Trace) Came {
	old := s.Index.Device()
	device := t.Device(old.ID)
	switch {
	case device == nil || device.First != old.First || device.Events.Len() < old.Events.Len() || !sameProgram(t, s.Trace()):
		return Broken
	case !s.Gate.Change(func() { s.Index.Advance(t, device) }):
		return Busy
	}
	s.update()
	return Taken
}

// Replace switches to another index, of a trace that does not continue the last
// one. It returns by how many places each event's number is lower in it.
func (s *Scene) Replace(x *analysis.Index) (earlier int) {
	if sameProgram(x.Trace(), s.Trace()) {
		earlier = int(x.Device().First - s.Index.Device().First)
	}
	if !sameProgram(x.Trace(), s.Trace()) {
		s.Following = x.Trace().Info.Growing
	}
	s.Gate.Forget()
	s.Index, s.changes, s.read = x, nil, 0
	s.cursor = min(max(s.cursor-earlier, -1), s.Last())
	s.update()
	return earlier
}

// sameProgram reports whether two traces are of the same process.
func sameProgram(a, b *trace.Trace) bool {
	if a.Live == nil || b.Live == nil {
		return a.Live == b.Live
	}
	return a.Live.PID == b.Live.PID && a.Live.Started == b.Live.Started
}

// Clock returns the newest time in the trace, in microseconds since the epoch, 0
// when nothing has a time. Pages use it to do something less often than in every
// frame.
func (s *Scene) Clock() int64 {
	now := int64(0)
	if n := s.Last(); n >= 0 {
		now = s.Events().At(n).Time
	}
	if steps := s.Trace().Steps; len(steps) > 0 {
		now = max(now, steps[len(steps)-1].Time)
	}
	return now
}

// StepsTo returns the program's reports of the steps that had ended right after
// an event.
func (s *Scene) StepsTo(event int) []trace.Step {
	steps := s.Trace().Steps
	if event >= s.Last() {
		return steps
	}
	number := s.endedAt(event)
	return steps[:sort.Search(len(steps), func(k int) bool { return steps[k].Number > number })]
}

// StepAt returns the last of StepsTo, nil when there is none.
func (s *Scene) StepAt(event int) *trace.Step {
	steps := s.StepsTo(event)
	if len(steps) == 0 {
		return nil
	}
	return &steps[len(steps)-1]
}

// MeasuredStepAt returns the last of StepsTo whose memory was measured, nil when there
// is none.
func (s *Scene) MeasuredStepAt(event int) *trace.Step {
	steps := s.StepsTo(event)
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Measured() {
			return &steps[i]
		}
	}
	return nil
}

// Behind returns the number of the step after which the program last measured its
// memory, if it has made more steps since, else 0. What the end of the trace shows
// is then as old as that step.
func (s *Scene) Behind() int64 {
	last, measured := s.StepAt(s.Last()), s.MeasuredStepAt(s.Last())
	if !s.Growing() || measured == nil || measured.Number == last.Number {
		return 0
	}
	return measured.Number
}

// endedAt returns the number of the last step that had ended right after an
// event, 0 for none.
func (s *Scene) endedAt(event int) int64 {
	k := sort.Search(len(s.Steps), func(k int) bool { return s.Steps[k].To > event+1 }) - 1
	for ; k >= 0; k-- {
		if end := s.StepEnd(k); end >= 0 {
			return s.Events().At(end).Size
		}
	}
	return 0
}

// StepEnd returns the event with which the program ended a step, −1 for none: an
// annotated step ends between events, and may end before the first kept event.
func (s *Scene) StepEnd(k int) int {
	last := s.Steps[k].To - 1
	if last < 0 || last >= s.Events().Len() || s.Events().At(last).Kind != trace.StepEnd {
		return -1
	}
	return last
}

// Gaps returns the places of this device where events are missing.
func (s *Scene) Gaps() []trace.Gap {
	live := s.Live()
	if live == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(live.Gaps), func(g trace.Gap) bool { return g.Device != s.Index.Device().ID })
}

// GapAt returns the gap for which an event was made up, nil for a recorded event.
func (s *Scene) GapAt(event int) *trace.Gap {
	gaps := s.Gaps()
	for i := range gaps {
		if event >= gaps[i].From && event < gaps[i].To {
			return &gaps[i]
		}
	}
	return nil
}

// GapText describes a gap in a few words.
func GapText(g *trace.Gap) string {
	if g.Missed < 0 {
		return "gap: events missing"
	}
	return "gap: " + screen.Plural(int(g.Missed), "event") + " missing"
}

// GapLines explains an event that was made up for a gap.
func GapLines(g *trace.Gap) []Line {
	missed := "events that are missing"
	if g.Missed >= 0 {
		missed = screen.Plural(int(g.Missed), "event") + " that are missing"
	}
	if g.Reason != "" {
		missed += " (" + g.Reason + ")"
	}
	return Sentence("made up", "it stands for "+missed+": it shows what changed in total, not how or when")
}
