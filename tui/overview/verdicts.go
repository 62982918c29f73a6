package overview

import (
	"context"
	"slices"
	"strconv"

	"memtop/snapshots/analysis"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// finding is a sentence of the page and where it leads.
type finding struct {
	analysis.Finding
	page string // that Enter opens
}

// look gathers the page's sentences. Of a program that counts its steps the
// verdicts on sites come first: they rest on more than growth alone, so they
// stand instead of what is said of growth.
func look(ctx context.Context, x page.Edition) []finding {
	live := x.Trace().Live != nil
	var found []finding
	if live {
		found = verdicts(x)
	}
	if ctx.Err() != nil {
		return nil
	}
	for _, f := range x.Findings() {
		growth := f.Severity == analysis.Warning && f.Stack != 0
		before := f.Event == -1 // of a recording that began late, which a probe's does by nature
		if live && (growth || before) {
			continue
		}
		found = append(found, finding{f, page.Timeline})
	}
	if others := elsewhere(x); len(others) > 0 {
		found = append(found, others...)
		slices.SortStableFunc(found, func(a, b finding) int { return int(b.Severity) - int(a.Severity) })
	}
	return found
}

// elsewhere says which other devices of a file ran out of memory.
func elsewhere(x page.Edition) []finding {
	if x.Trace().Info.Growing || len(x.Trace().Devices) < 2 {
		return nil
	}
	var found []finding
	for _, s := range analysis.Shortages(x.Trace()) {
		if s.Device != x.Device().ID {
			text := "Device " + strconv.Itoa(s.Device) + " ran out of memory, at its event " + screen.Count(s.Event) + "; d goes to the next device."
			found = append(found, finding{analysis.Finding{Severity: analysis.Problem, Text: text, Event: analysis.NoEvent}, page.Timeline})
		}
	}
	return found
}

// verdicts says which sites look wrong, the largest first.
func verdicts(x page.Edition) []finding {
	const most = 4
	var found []finding
	for _, s := range x.Sites(x.End()) {
		if !s.Trend.Alarming() || len(found) == most {
			continue
		}
		severity := analysis.Problem
		if s.Trend == analysis.Growing {
			severity = analysis.Warning
		}
		found = append(found, finding{
			analysis.Finding{Severity: severity, Text: verdictText(&s), Event: x.End(), Stack: s.Stack}, page.Tensors,
		})
	}
	return found
}

func verdictText(s *analysis.Site) string {
	text := s.Name + ": " + s.Trend.String()
	if s.GrowthPerStep > 0 {
		text += ", +" + screen.Bytes(s.GrowthPerStep) + " per step"
	}
	if s.StepsToOOM >= 0 {
		text += ", out of memory in " + screen.Plural(int(s.StepsToOOM), "step")
	}
	if text += "; " + screen.Bytes(s.Bytes) + " in " + screen.Plural(s.Count, "tensor") + "."; s.Reason != "" {
		text += " " + s.Reason
	}
	return text
}
