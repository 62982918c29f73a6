package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
)

// Text writes the difference for people, in lines of at most width cells.
func (d *Diff) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	if d.Empty() {
		p.line("No difference.")
		return p.w.Flush()
	}
	for i := range d.Devices {
		if i > 0 {
			p.line("")
		}
		d.Devices[i].text(p)
	}
	if d.Annotations {
		p.line("The annotations differ.")
	}
	if d.Settings {
		p.line("The allocator's settings differ.")
	}
	return p.w.Flush()
}

func (d *DeviceDiff) text(p *page) {
	switch {
	case d.Only != nil:
		p.line("Device %d: %s", d.Device, *d.Only)
		d.numberLines(p, "", d.Numbers)
		return
	case d.Empty():
		p.line("Device %d: no difference", d.Device)
		return
	}
	p.line("Device %d", d.Device)
	for _, side := range [...]struct {
		name string
		MomentOfDiff
	}{{"before", d.Before}, {"after", d.After}} {
		p.line("  %-7s %s in %s, %s", side.name, quantity.Bytes(side.Bytes), quantity.Plural(side.Count, "allocation"), side.When)
	}
	d.numberLines(p, "", d.Numbers)
	d.numberLines(p, "by category, guessed unless the writer noted it", d.Categories)
	d.causeLines(p)
	placeLines(p, "line", d.Lines)
	placeLines(p, "module", d.Modules)
	placeLines(p, "allocated", d.Phases)
	p.line("")
	p.line("  segments: %s", rangeCounts(d.Segments))
	p.line("  blocks:   %s", rangeCounts(d.Blocks))
	if d.FirstEvent >= 0 {
		p.line("  the histories differ from event %s on", quantity.Count(d.FirstEvent))
	}
}

func (d *DeviceDiff) numberLines(p *page, title string, numbers []NumberDiff) {
	if len(numbers) == 0 {
		return
	}
	p.line("")
	if title != "" {
		p.line("  %s", title)
	}
	p.line("  %-20s%12s%12s%12s", "", "before", "after", "change")
	for _, n := range numbers {
		p.line("  %-20s%12s%12s%12s", n.Name, quantity.Bytes(n.Before), quantity.Bytes(n.After), signed(n.Delta()))
	}
}

func signed(n int64) string {
	if n > 0 {
		return "+" + quantity.Bytes(n)
	}
	return quantity.Bytes(n)
}

// causeLines writes the causes of the difference.
func (d *DeviceDiff) causeLines(p *page) {
	if len(d.Causes) == 0 {
		return
	}
	p.line("")
	p.line("  what made the difference")
	for i := range d.Causes {
		c := &d.Causes[i]
		p.wrap(fmt.Sprintf("  %12s  ", signed(c.Delta())), c.Text)
	}
	e := &d.Explained
	p.line("")
	p.wrap("  ", fmt.Sprintf("Of %s that lines grew or shrank by, %d%% are of a category with a name and %d%% from the program's own code; %d%% are one of the two.",
		quantity.Bytes(e.Bytes), analysis.Percent(e.Category, e.Bytes), analysis.Percent(e.Line, e.Bytes), analysis.Percent(e.Either, e.Bytes)))
}

// placeLines lists the largest changes of lines, modules or phases.
func placeLines(p *page, title string, rows []PlaceDiff) {
	const shown = 20
	if len(rows) == 0 {
		return
	}
	p.line("")
	p.line("%12s%12s%12s%16s  %s", "before", "after", "change", "count", title)
	for i := range rows[:min(shown, len(rows))] {
		r := &rows[i]
		p.line("%12s%12s%12s%16s  %s", quantity.Bytes(r.Before), quantity.Bytes(r.After), signed(r.Delta()),
			fmt.Sprintf("%s -> %s", quantity.Count(r.CountBefore), quantity.Count(r.CountAfter)), fitName(r.Name, p.width-54))
	}
	if more := len(rows) - shown; more > 0 {
		p.line("  and %s more", quantity.Count(more))
	}
}

// rangeCounts counts ranges by kind of difference.
func rangeCounts(ranges []RangeDiff) string {
	var count [Vanished + 1]int
	var bytes [Vanished + 1]int64
	for _, r := range ranges {
		count[r.Change]++
		bytes[r.Change] += magnitude(r.Size)
	}
	var parts []string
	for change, n := range count {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", n, DiffKind(change), quantity.Bytes(bytes[change])))
		}
	}
	if len(parts) == 0 {
		return "the same"
	}
	return strings.Join(parts, ", ")
}
