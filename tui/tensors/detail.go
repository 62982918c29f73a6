package tensors

import (
	"math"
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// detailLines describes the selection.
func (p *Page) detailLines() []page.Line {
	if p.read != nil {
		return p.tensorLines(*p.read)
	}
	r, ok := p.current()
	switch {
	case !ok:
		return nil
	case r.tensor != nil:
		return p.tensorLines(r)
	default:
		return p.siteLines(r.site)
	}
}

func (p *Page) siteLines(s *leak.Site) []page.Line {
	lines := append([]page.Line{page.Heading(s.Name)}, p.trendLines(s)...)
	held := screen.Bytes(s.Bytes) + " in " + screen.Plural(s.Count, "tensor") + ", " + categoryText(s.Category, s.Guessed)
	if s.Oldest >= 0 {
		held += ", the oldest of " + agesText(s.Oldest, s.AtLeast)
	}
	lines = append(lines, page.Pair("holds", held))
	switch {
	case s.ID.Stack() == 0 && s.Name == analysis.HeldBefore:
		return append(lines, page.Line{Text: "nothing was recorded of where it was made", Style: screen.Dim})
	case s.ID.Stack() == 0:
		return append(lines, page.Line{Text: "known by what it is: no stack was recorded", Style: screen.Dim})
	}
	lines = append(lines, page.Heading("created at"))
	return append(lines, page.StackPart(p.Scene, s.ID.Stack(), p.Frames)...)
}

// trendLines is the verdict on a site, with the evidence.
func (p *Page) trendLines(s *leak.Site) []page.Line {
	if !p.held.stepped {
		return page.Sentence("verdict", "undecided: nothing says where steps begin, so there is nothing to compare")
	}
	lines := []page.Line{{Label: "verdict", Text: s.Trend.String() + restsOn(s), Style: trendStyle(s.Trend)}}
	if s.Reason != "" {
		lines = append(lines, page.Sentence("because", s.Reason)...)
	}
	if s.LostCount > 0 && s.Trend != leak.Unreachable {
		lines = append(lines, page.Pair("lost", screen.Bytes(s.LostBytes)+" in "+screen.Plural(s.LostCount, "tensor")+" that nothing in the program refers to"))
	}
	if s.GrowthPerStep != 0 {
		grows := s.LeastWord() + growthText(s) + " per step"
		if s.StepsToOOM >= 0 {
			grows += ", " + p.fullText(s.StepsToOOM)
		}
		lines = append(lines, page.Pair("grows", grows))
	}
	return lines
}

// fullText says when growth will fill the device: in steps, and in time at the
// pace of the last step.
func (p *Page) fullText(steps int64) string {
	text := "full in " + screen.Plural(int(steps), "step")
	if last := p.Scene.StepAt(p.held.at); last != nil && last.Duration > 0 && steps > 0 && steps < math.MaxInt64/last.Duration {
		text += " (some " + about(time.Duration(steps*last.Duration)) + ")"
	}
	return text
}

// about writes a time in its largest unit, because it is only an estimate.
func about(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return screen.Plural(int(d/(24*time.Hour)), "day")
	case d >= 2*time.Hour:
		return screen.Plural(int(d/time.Hour), "hour")
	case d >= 2*time.Minute:
		return screen.Plural(int(d/time.Minute), "minute")
	default:
		return screen.Plural(int(d/time.Second), "second")
	}
}

func restsOn(s *leak.Site) string {
	if s.Steps <= 0 {
		return ""
	}
	return ", seen over " + screen.Plural(s.Steps, "step")
}

func agesText(age int64, atLeast bool) string {
	text := screen.Plural(int(age), "step")
	if atLeast {
		return "at least " + text
	}
	return text
}

func (p *Page) tensorLines(r row) []page.Line {
	t := r.tensor
	lines := []page.Line{page.Heading(t.Name + "  " + screen.Bytes(t.Size))}
	age := "not known: nothing says where steps begin"
	if t.Age >= 0 {
		age = agesText(t.Age, t.AtLeast)
	}
	lines = append(lines, page.Pair("age", age))
	if s := r.site; s != nil && s.Trend.Alarming() {
		lines = append(lines, page.Line{Label: "its site", Text: s.Trend.String() + restsOn(s), Style: trendStyle(s.Trend)})
	}
	now := p.Scene.Index.Lifetimes().AllocationAt(t.ID, p.held.at) // it may have been freed since the list was made
	rest := page.AllocationLines(p.Scene, now, p.Frames || p.read != nil)
	return append(lines, rest[1:]...)
}
