package tensors

import (
	"memtop/snapshots/analysis"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// detailLines describes what is selected.
func (p *Page) detailLines() []page.Line {
	if t := p.currentTensor(); t != nil {
		return p.tensorLines(t)
	}
	if s := p.currentSite(); s != nil {
		return p.siteLines(s)
	}
	return nil
}

func (p *Page) siteLines(s *analysis.Site) []page.Line {
	lines := append([]page.Line{page.Heading(s.Name)}, trendLines(s)...)
	held := screen.Bytes(s.Bytes) + " in " + screen.Plural(s.Count, "tensor") + ", " + categoryText(s.Category, s.Guessed)
	if s.Oldest >= 0 {
		held += ", the oldest of " + agesText(s.Oldest, s.AtLeast)
	}
	lines = append(lines, page.Pair("holds", held))
	if s.Stack == 0 {
		return append(lines, page.Line{Text: "known by its tag only: no stack was recorded", Style: screen.Dim})
	}
	lines = append(lines, page.Heading("created at"))
	return append(lines, page.StackPart(p.scene, s.Stack, p.all)...)
}

// trendLines is the verdict on a site, with what it rests on.
func trendLines(s *analysis.Site) []page.Line {
	_, style := trendText(s.Trend)
	lines := []page.Line{{Label: "verdict", Text: s.Trend.String() + restsOn(s), Style: style}}
	if s.Reason != "" {
		lines = append(lines, page.Sentence("because", s.Reason)...)
	}
	if s.LostCount > 0 {
		lines = append(lines, page.Pair("lost", screen.Bytes(s.LostBytes)+" in "+screen.Plural(s.LostCount, "tensor")+" that nothing in the program refers to"))
	}
	if s.GrowthPerStep != 0 {
		grows := growthText(s) + " per step"
		if s.StepsToOOM >= 0 {
			grows += ", " + stepsText(s.StepsToOOM)
		}
		lines = append(lines, page.Pair("grows", grows))
	}
	return lines
}

func restsOn(s *analysis.Site) string {
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

func (p *Page) tensorLines(t *analysis.Tensor) []page.Line {
	lines := []page.Line{page.Heading(t.Name + "  " + screen.Bytes(t.Size))}
	age := "not known: nothing says where steps begin"
	if t.Age >= 0 {
		age = agesText(t.Age, t.AtLeast)
	}
	lines = append(lines, page.Pair("age", age))
	if s := p.held.siteOf(t); s != nil && s.Trend.Alarming() {
		_, style := trendText(s.Trend)
		lines = append(lines, page.Line{Label: "its site", Text: s.Trend.String() + restsOn(s), Style: style})
	}
	rest := page.AllocationLines(p.scene, t.Allocation, p.all || p.reading)
	return append(lines, rest[1:]...)
}
