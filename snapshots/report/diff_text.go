package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"memtop/snapshots/quantity"
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
		return
	case d.Empty():
		p.line("Device %d: no difference", d.Device)
		return
	}
	p.line("Device %d", d.Device)
	d.numberLines(p, "", d.Numbers)
	d.numberLines(p, "by category, guessed unless the writer noted it", d.Categories)
	d.stackLines(p)
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

func (d *DeviceDiff) stackLines(p *page) {
	const shown = 20
	named := mergeNamed(d.Stacks)
	if len(named) == 0 {
		return
	}
	p.line("")
	p.line("  by where it was allocated")
	for _, s := range named[:min(shown, len(named))] {
		p.line("  %-9s%12s  %5d -> %-5d %s", s.Change, signed(s.Delta()), s.CountBefore, s.CountAfter, s.Name)
	}
	if more := len(named) - shown; more > 0 {
		p.line("  and %d more", more)
	}
}

// mergeNamed adds up the stacks of one name, the largest change first: two
// versions of a program call the same line by different ways. Names that come
// to the same on both sides are left out.
func mergeNamed(stacks []StackDiff) []StackDiff {
	at := make(map[string]int)
	var merged []StackDiff
	for _, s := range stacks {
		k, ok := at[s.Name]
		if !ok {
			k = len(merged)
			at[s.Name] = k
			merged = append(merged, StackDiff{Name: s.Name})
		}
		m := &merged[k]
		m.Before, m.After = m.Before+s.Before, m.After+s.After
		m.CountBefore, m.CountAfter = m.CountBefore+s.CountBefore, m.CountAfter+s.CountAfter
	}
	merged = slices.DeleteFunc(merged, func(s StackDiff) bool { return s.Before == s.After && s.CountBefore == s.CountAfter })
	for i := range merged {
		merged[i].Change, _ = changeOf(merged[i].Before, merged[i].After)
	}
	slices.SortStableFunc(merged, func(a, b StackDiff) int { return cmp.Compare(magnitude(b.Delta()), magnitude(a.Delta())) })
	return merged
}

// rangeCounts sums ranges up by what became of them.
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
