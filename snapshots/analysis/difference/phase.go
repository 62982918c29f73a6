package difference

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/grouped"
	"github.com/memtop/memtop/snapshots/quantity"
)

// Phases returns the live memory of both sides by the time of its allocation,
// relative to the moment: in the moment's step, before that step, or before
// recording, and within a range that the program named. The largest change comes
// first.
func (d *Difference) Phases() []Row {
	var rows grouped.By[string, Row]
	for side, s := range d.Sides {
		names := newPhases(s)
		for _, b := range slices.SortedStableFunc(slices.Values(d.blocks[side]), func(a, b block) int { return cmp.Compare(a.open, b.open) }) {
			name := names.of(b.open)
			row := rows.Of(name)
			row.Name = name
			row.add(side, b.size)
		}
	}
	sortByChange(rows.List)
	return rows.List
}

func sortByChange(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(magnitude(b.Delta()), magnitude(a.Delta())), cmp.Compare(b.Bytes[1], a.Bytes[1]), cmp.Compare(a.Name, b.Name))
	})
}

func magnitude(n int64) int64 { return max(n, -n) }

// phases names when events happened, for events that are asked for in their order.
type phases struct {
	steps []analysis.Step
	now   int // the step that the moment is in, −1 for none
	marks []analysis.Mark
	open  []analysis.Mark // those that began before the last event asked for; only the last is known to be open
}

func newPhases(s Side) *phases {
	p := &phases{steps: s.Index.Steps(), now: -1}
	for i, step := range p.steps {
		if step.From <= s.At && s.At < step.To {
			p.now = i
		}
	}
	for _, m := range s.Index.Marks() {
		if !strings.HasPrefix(m.Name, "ProfilerStep#") {
			p.marks = append(p.marks, m)
		}
	}
	return p
}

func (p *phases) of(event int) string {
	if event < 0 {
		return "before recording"
	}
	when := "while recording"
	switch {
	case p.now >= 0 && event >= p.steps[p.now].From:
		when = "in this step"
	case len(p.steps) > 0 && event < p.steps[0].From:
		when = "before the first step"
	case len(p.steps) > 0:
		when = "in an earlier step"
	}
	if name := p.within(event); name != "" {
		when += ", within " + name
	}
	return when
}

// within returns the innermost range that an event is in.
func (p *phases) within(event int) string {
	for len(p.marks) > 0 && p.marks[0].From <= event {
		p.open = append(p.open, p.marks[0])
		p.marks = p.marks[1:]
	}
	n := len(p.open)
	for n > 0 && p.open[n-1].To <= event {
		n--
	}
	if p.open = p.open[:n]; n == 0 {
		return ""
	}
	return p.open[n-1].Name
}

// When describes a side's moment: its event, its step, and the innermost named
// range.
func (s Side) When() string {
	if s.At < 0 {
		return "before the first event"
	}
	text := "after event " + quantity.Count(s.At)
	p := newPhases(s)
	if p.now >= 0 {
		text += ", in " + p.steps[p.now].Name + " of " + quantity.Count(len(p.steps))
	}
	if name := p.within(s.At); name != "" {
		text += ", within " + name
	}
	return text
}
