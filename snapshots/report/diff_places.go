package report

import (
	"github.com/memtop/memtop/snapshots/analysis/difference"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// MomentOfDiff is one side of a comparison.
type MomentOfDiff struct {
	Event int    `json:"event"` // the moment is right after this event, −1 before the first
	When  string `json:"when"`  // the event, its step and its range
	Bytes int64  `json:"requested_bytes"`
	Count int    `json:"allocations"`
}

// PlaceDiff is the memory of a line, a module or a phase before and after.
type PlaceDiff struct {
	Name     string `json:"name"`
	File     string `json:"file,omitempty"`     // of a line
	Line     int    `json:"line,omitempty"`     // likewise
	Function string `json:"function,omitempty"` // likewise
	Own      bool   `json:"own"`                // the program's own code
	Sides
}

// CauseDiff is the cause of a part of the difference.
type CauseDiff struct {
	Kind     string  `json:"kind"`
	Factor   float64 `json:"factor,omitempty"`   // the common factor by which sizes changed
	Category string  `json:"category,omitempty"` // of what appeared or vanished
	Text     string  `json:"text"`
	Sides
	Lines []PlaceDiff `json:"lines"`
}

func momentOf(s difference.Side) MomentOfDiff { return MomentOfDiff{Event: s.At, When: s.When()} }

// addDifference adds the difference between the memory of two moments.
func (d *DeviceDiff) addDifference(found *difference.Difference) {
	d.Explained = found.Explained()
	for _, r := range found.Categories() {
		d.Before.Bytes, d.After.Bytes = d.Before.Bytes+r.Bytes[0], d.After.Bytes+r.Bytes[1]
		d.Before.Count, d.After.Count = d.Before.Count+r.Count[0], d.After.Count+r.Count[1]
		if r.Delta() != 0 {
			d.Categories = append(d.Categories, NumberDiff{r.Name, r.Bytes[0], r.Bytes[1]})
		}
	}
	tables := found.Merged.Tables()
	d.Lines = places(found.Lines(lines.Line), tables)
	d.Modules = places(found.Lines(lines.Module), nil)
	d.Phases = places(found.Phases(), nil)
	causes := found.Causes()
	for i := range causes {
		c := &causes[i]
		row := CauseDiff{c.Kind.String(), 0, "", found.Text(c), sidesOf(&c.Row), places(c.Lines, tables)}
		if c.Kind == difference.Scaled {
			row.Factor = float64(c.Factor.Times) / float64(c.Factor.Over)
		}
		if c.Kind == difference.Appeared || c.Kind == difference.Vanished {
			row.Category = c.Category.String()
		}
		d.Causes = append(d.Causes, row)
	}
}

// places lists the rows that changed. Rows for lines have file, line and
// function.
func places(rows []difference.Row, t *trace.Tables) []PlaceDiff {
	changed := []PlaceDiff{}
	for _, r := range rows {
		if r.Bytes[0] == r.Bytes[1] && r.Count[0] == r.Count[1] {
			continue
		}
		p := PlaceDiff{r.Name, "", 0, "", r.Own, sidesOf(&r)}
		if t != nil && r.Frame != 0 {
			p.File, p.Line, p.Function = t.FrameFile(r.Frame), int(t.Frames[r.Frame].Line), t.FrameName(r.Frame)
		}
		changed = append(changed, p)
	}
	return changed
}
