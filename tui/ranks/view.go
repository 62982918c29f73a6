package ranks

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// The rows of the pane below the table, with its rule.
const (
	leastDetail = 6
	mostDetail  = 16
)

// areas are the places of the table and the text below it.
func areas(w, h int) (table, detail screen.Rect) {
	rest, detail := screen.Rect{W: w, H: h}.Bottom(min(max(h/3, leastDetail), mostDetail))
	_, table = rest.Top(1)
	return table, detail
}

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.theme, w, h)
	c.Rule(0, p.title(), p.count(), true)
	table, detail := areas(w, h)
	p.table.Draw(c.Sub(table))
	if p.table.Count == 0 {
		p.table.Empty(c.Sub(table), "No rank is known yet.")
	}
	below := c.Sub(detail)
	below.Rule(0, "", "", false)
	p.Detail.Draw(below, 1, p.said)
	return c.String()
}

func (p *Page) title() string {
	if len(p.rows) == 0 || p.rows[0].Job == "" {
		return "Ranks"
	}
	return "Ranks of " + p.rows[0].Job
}

// count says how many ranks are shown, and how many of the job are unknown.
func (p *Page) count() string {
	if p.table.Count < len(p.rows) {
		return screen.Count(p.table.Count) + " of " + screen.Plural(len(p.rows), "rank")
	}
	if n := len(p.rows); n > 0 && p.rows[0].World > n {
		return screen.Count(n) + " of " + screen.Plural(p.rows[0].World, "rank")
	}
	return screen.Plural(len(p.rows), "rank")
}

// Summary describes the state of the job in a few parts, the most important
// first.
func (p *Page) Summary() []string {
	parts := []string{p.count()}
	if p.hosts > 1 {
		parts[0] += " on " + screen.Plural(p.hosts, "host")
	}
	for _, state := range []struct {
		word string
		is   func(*ranks.Row) bool
	}{
		{"out of memory", func(r *ranks.Row) bool { return r.OutOfMemory > 0 }},
		{"not answering", func(r *ranks.Row) bool { return r.Problem != "" }},
	} {
		if n := p.howMany(state.is); n > 0 {
			parts = append(parts, screen.Count(n)+" "+state.word)
		}
	}
	if r := p.tightest(); r != nil {
		left, _ := r.Headroom()
		parts = append(parts, "least headroom "+screen.Bytes(left)+", rank "+number(r))
	}
	if r := p.slowest(); r != nil {
		parts = append(parts, "slowest rank "+number(r)+", "+screen.Micros(r.StepDuration/1000)+" a step")
	}
	return parts
}

func (p *Page) howMany(is func(*ranks.Row) bool) int {
	n := 0
	for i := range p.rows {
		if is(&p.rows[i]) {
			n++
		}
	}
	return n
}

// tightest returns the rank with the least headroom, nil where none is known.
func (p *Page) tightest() *ranks.Row {
	var tightest *ranks.Row
	least := int64(0)
	for i := range p.rows {
		if left, ok := p.rows[i].Headroom(); ok && (tightest == nil || left < least) {
			tightest, least = &p.rows[i], left
		}
	}
	return tightest
}

// slowest returns the rank with the longest step, nil before the first.
func (p *Page) slowest() *ranks.Row {
	var slowest *ranks.Row
	for i := range p.rows {
		if r := &p.rows[i]; r.StepDuration > 0 && (slowest == nil || r.StepDuration > slowest.StepDuration) {
			slowest = r
		}
	}
	return slowest
}

// lines are the differences between the ranks, and the facts about the selected
// one, in w cells.
func (p *Page) lines(w int) []page.Line {
	r, ok := p.table.Current()
	if !ok {
		return nil
	}
	lines := findingLines(p.found, w)
	lines = append(lines, page.Heading(rankText(r)))
	if state := stateText(r); state != "" {
		lines = append(lines, page.Pair("state", state))
	}
	lines = append(lines, page.Pair("at peak", atPeakText(r.Row)))
	if len(r.Settings) > 0 {
		lines = append(lines, page.Pair("settings", settingsText(r.Settings)))
	}
	return lines
}

// findingLines are the differences between the ranks.
func findingLines(found []ranks.Finding, w int) []page.Line {
	var lines []page.Line
	for _, f := range found {
		mark := string(page.SeverityMark[f.Severity])
		for _, part := range screen.Wrap(f.Text(), w-4) {
			lines = append(lines, page.Line{Text: mark + " " + part, Style: page.SeverityStyle[f.Severity]})
			mark = " "
		}
	}
	return lines
}

// rankText names the rank and the process.
func rankText(r row) string {
	rank := "rank " + number(r.Row)
	if r.World > 0 {
		rank += " of " + strconv.Itoa(r.World)
	}
	parts := []string{rank, r.Host, pidText(r.PID), "device " + strconv.Itoa(r.Device), r.Name}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " · ")
}

func pidText(pid int) string {
	if pid == 0 {
		return ""
	}
	return "pid " + strconv.Itoa(pid)
}

// atPeakText lists the categories of the memory at the peak of the last step.
func atPeakText(r *ranks.Row) string {
	order := slices.SortedStableFunc(slices.Values(trace.Categories[:]), func(a, b trace.Category) int { return cmp.Compare(r.AtPeak[b], r.AtPeak[a]) })
	var parts []string
	for _, c := range order {
		if n := r.AtPeak[c]; n > 0 {
			parts = append(parts, c.String()+" "+screen.Bytes(n))
		}
	}
	if len(parts) == 0 {
		return "what it was for is not known before the first step"
	}
	return strings.Join(parts, ", ")
}

func settingsText(settings map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		parts = append(parts, key+" "+settings[key])
	}
	return strings.Join(parts, ", ")
}
