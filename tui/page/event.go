package page

import (
	"sort"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

// EventLines returns all details of an event. It shows all frames of the stack,
// or only the most telling ones.
func EventLines(s *Scene, i int, all bool) []Line {
	if i < 0 || i > s.Last() {
		return startLines(s)
	}
	e, t := s.Events().At(i), s.Tables()
	lines := []Line{{Text: "event " + screen.Count(i) + "  " + ActionText(t, e) + sizeText(e), Style: screen.Strong}}
	if g := s.GapAt(i); g != nil {
		lines = append(lines, GapLines(g)...)
	}
	if e.Kind == trace.OOM {
		lines = append(lines, oomLines(s, i, e)...)
	}
	if !IsStep(e) {
		lines = append(lines, Pair("at", placeText(t, e)))
	}
	if when := e.When(); !when.IsZero() {
		us, _ := s.Since(i)
		lines = append(lines, Pair("time", when.UTC().Format("2006-01-02 15:04:05.000000 UTC")+"  +"+screen.Micros(us)+stepText(s, i)))
	}
	if open := openText(s, i); open != "" {
		lines = append(lines, Pair("within", open))
	}
	if a, ok := AllocationOf(s, i); ok {
		lines = append(lines, Pair("lives", LifeText(s, a)))
		lines = append(lines, useLines(s, a)...)
	} else {
		lines = append(lines, tensorLines(t, e.Note)...)
	}
	lines = append(lines, NoteLines(t, e.Note)...)
	if IsStep(e) {
		return lines
	}
	return append(lines, StackPart(s, e.Stack, all)...)
}

// IsStep reports whether an event only marks the begin or end of a step. Its size
// is then the step's number.
func IsStep(e *trace.Event) bool { return e.Kind == trace.StepBegin || e.Kind == trace.StepEnd }

// stepText names the program's step that event i lies in.
func stepText(s *Scene, i int) string {
	k := sort.Search(len(s.Steps), func(k int) bool { return s.Steps[k].From > i }) - 1
	if k < 0 || i >= s.Steps[k].To {
		return ""
	}
	return ", in " + s.Steps[k].Name
}

// openText names the annotations that are open at event i, the outermost first.
func openText(s *Scene, i int) string {
	var names []string
	for k := range s.Ranges {
		if r := &s.Ranges[k]; r.From <= i && i < r.To {
			names = append(names, r.Name)
		}
	}
	return strings.Join(names, " > ")
}

// oomLines says why memory ran out and what held it.
func oomLines(s *Scene, i int, e *trace.Event) []Line {
	lines := []Line{Pair("asked for", exactBytes(e.Size)+"; "+screen.Bytes(int64(e.Addr))+" free on the device")}
	for k := range s.OOMs {
		o := &s.OOMs[k]
		if o.Event != i {
			continue
		}
		lines = append(lines, Line{Label: "cause", Text: o.Verdict.String(), Style: screen.Bad})
		lines = append(lines, Sentence("because", o.Reason)...)
		holders := o.Holders[:min(len(o.Holders), 5)]
		stacks := make([]trace.StackID, len(holders))
		for k, h := range holders {
			stacks[k] = h.Stack
		}
		names := Names(analysis.NamesOf(s.Index, stacks))
		for _, h := range holders {
			lines = append(lines, Pair("holds", screen.Bytes(h.Bytes)+" ×"+screen.Count(h.Count)+"  "+names.Stack(s.Index, h.Stack, false)))
		}
	}
	return lines
}

// sizeText is the size of an event for its heading.
func sizeText(e *trace.Event) string {
	switch {
	case IsStep(e):
		return "  number " + screen.Count(int(e.Size))
	case e.Absent&trace.NoSize != 0, e.Kind == trace.OOM:
		return ""
	}
	return "  " + exactBytes(e.Size)
}

// placeText is the address and the stream of an event.
func placeText(t *trace.Tables, e *trace.Event) string {
	text := ""
	if e.Absent&trace.NoAddr == 0 && e.Kind != trace.OOM {
		text = screen.Address(e.Addr) + ", "
	}
	if e.Absent&trace.NoStream != 0 {
		return text + "stream not recorded"
	}
	text += "stream " + StreamText(e.Stream)
	if handle := t.Stream(e.Stream); handle != 0 {
		text += " (handle " + screen.Address(handle) + ")"
	}
	return text
}

// AllocationLines returns all details of an allocation.
func AllocationLines(s *Scene, a trace.Allocation, all bool) []Line {
	lines := []Line{
		{Text: "allocation  " + exactBytes(a.Size), Style: screen.Strong},
		Pair("at", screen.Address(a.Addr)+", stream "+StreamText(a.Stream)),
		Pair("lives", LifeText(s, a)),
	}
	lines = append(lines, useLines(s, a)...)
	lines = append(lines, NoteLines(s.Tables(), a.Note)...)
	if a.FreeStack {
		lines = append(lines, Line{Text: "made before recording; the stack is where it was freed", Style: screen.Dim})
	}
	return append(lines, StackPart(s, a.Stack, all)...)
}

// useLines says what an allocation is used for, whether that is a guess, and
// which tensor it is if the file says so.
func useLines(s *Scene, a trace.Allocation) []Line {
	t := s.Tables()
	category, rule := s.Index.Category(a)
	text := category.String()
	if !rule.Exact {
		text += "  (guessed: " + rule.String() + ")"
	}
	n := t.Notes[a.Note]
	if role := t.String(n.Role); known(role) {
		text += ": " + role
	}
	return append([]Line{Pair("used for", text)}, tensorLines(t, a.Note)...)
}

// StackPart returns a stack's frames: all, or the most telling ones.
func StackPart(s *Scene, id trace.StackID, all bool) []Line {
	if all {
		return StackLines(s.Tables(), id)
	}
	return TellingLines(s, id)
}

func startLines(s *Scene) []Line {
	return []Line{
		Heading("before the first event"),
		Pair("held", screen.Bytes(s.Summary.InitialRequested)+" in "+screen.Plural(s.Summary.Held, "allocation")+" from before recording"),
		Pair("reserved", exactBytes(s.Summary.InitialReserved)),
	}
}

func exactBytes(n int64) string { return screen.Bytes(n) + "  (" + screen.Count(int(n)) + " bytes)" }

// LifeText says from which event to which an allocation lives.
func LifeText(s *Scene, a trace.Allocation) string {
	from, to := "before recording", "the end: never freed"
	if s.Growing() {
		to = "now"
	}
	if a.Open >= 0 {
		from = "event " + screen.Count(a.Open)
	}
	if a.Close != trace.Never {
		to = "event " + screen.Count(a.Close)
	}
	text := from + " to " + to
	if a.Open < 0 || a.Close == trace.Never {
		return text
	}
	text += ", " + screen.Plural(a.Close-a.Open, "event")
	if us := s.Events().At(a.Close).Time - s.Events().At(a.Open).Time; us > 0 {
		text += ", " + screen.Micros(us)
	}
	return text
}

// AllocationOf returns the allocation that event i made or ended.
func AllocationOf(s *Scene, i int) (trace.Allocation, bool) {
	if i < 0 || i > s.Last() {
		return trace.Allocation{}, false
	}
	if e := s.Events().At(i); e.Kind == trace.FreeRequested && i < s.Last() {
		if next := s.Events().At(i + 1); next.Kind.Closes() && next.Addr == e.Addr {
			i++
		}
	}
	return s.Index.Lifetimes().About(i)
}

// ToEvent goes to the event that made an allocation, or else to the one that
// ended it.
func ToEvent(s *Scene, a trace.Allocation) tea.Cmd {
	switch {
	case a.Open >= 0:
		s.Move(a.Open)
	case a.Close != trace.Never:
		s.Move(a.Close)
	default:
		return Say("held from before recording and never freed: it has no event")
	}
	return Open(Events)
}

// ActionText returns an event's action as written.
func ActionText(t *trace.Tables, e *trace.Event) string {
	if e.Kind == trace.Other && e.Note != 0 {
		if s := t.String(t.Notes[e.Note].Action); s != "" {
			return s
		}
	}
	return e.Kind.String()
}
