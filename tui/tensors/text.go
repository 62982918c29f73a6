package tensors

import (
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// trends are the trends in at most fifteen cells.
var trends = [...]struct {
	text  string
	style screen.Style
}{
	leak.Undecided: {"  undecided", screen.Dim}, leak.Steady: {"  steady", screen.Dim},
	leak.Unreachable: {"⚠ unreachable", screen.Bad}, leak.Suspected: {"⚠ suspected", screen.Bad},
	leak.Growing: {"▲ growing", screen.Warn}, leak.Warming: {"  warming up", screen.Plain},
	leak.ShapeDriven: {"  shape-driven", screen.Plain},
}

func trendText(t leak.Trend) string { return trends[t].text }

func trendStyle(t leak.Trend) screen.Style { return trends[t].style }

// siteTrend is the whole name of the trend of a tensor's site.
func siteTrend(r row) string {
	if r.site != nil {
		return r.site.Trend.String()
	}
	return ""
}

// growthText says by how much a site grows.
func growthText(s *leak.Site) string {
	if s.GrowthPerStep == 0 {
		return ""
	}
	return "+" + screen.Bytes(s.GrowthPerStep)
}

// ageText is an age in steps; a plus says that it may be more.
func ageText(age int64, atLeast bool) string {
	switch {
	case age < 0:
		return "-"
	case atLeast:
		return screen.Count(int(age)) + "+"
	default:
		return screen.Count(int(age))
	}
}

// categoryText marks a guess.
func categoryText(c trace.Category, guessed bool) string {
	if guessed {
		return c.String() + "?"
	}
	return c.String()
}

// drawLevels draws the memory of a site after the last steps as a small chart.
func drawLevels(c screen.Canvas, r row) {
	values := make([]int64, len(r.site.History))
	for i := range r.site.History {
		values[i] = r.site.History[i].Bytes
	}
	page.Spark(c, 0, 0, c.Width(), values, trendStyle(r.site.Trend))
}
