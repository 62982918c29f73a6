package ranks

import (
	"cmp"
	"strconv"

	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// The heads that help explains.
const (
	activationHead = "activation"
	skewHead       = "skew"
	headroomHead   = "headroom"
	leakHead       = "leak/step"
	trendHead      = "trend"
)

func (p *Page) columns() []page.Column[row] {
	size := page.Cells(screen.BytesWidth)
	from := func(w int) func(int) int { return page.From(w, screen.BytesWidth) }
	return []page.Column[row]{
		{Head: "rank", Width: page.Cells(4), Searched: true, Natural: true, Text: func(r row) string { return number(r.Row) }},
		{Head: "host", Width: p.hostWidth, Left: true, Searched: true, Text: func(r row) string { return r.Host }, Compare: func(a, b row) int { return cmp.Compare(a.Host, b.Host) }},
		{Head: "dev", Width: page.From(105, 3), Text: func(r row) string { return strconv.Itoa(r.Device) }, Value: func(r row) int64 { return -int64(r.Device) }},
		{Head: "step", Width: page.Cells(7), Text: func(r row) string { return screen.Count(int(r.Step)) }, Value: func(r row) int64 { return r.Step }},
		{Head: "step time", Width: page.From(150, 9), Text: timeText, Value: func(r row) int64 { return r.StepDuration }},
		{Head: "allocated", Width: size, Text: bytesOf(func(r row) int64 { return r.Allocated }), Value: func(r row) int64 { return r.Allocated }},
		{Head: "reserved", Width: from(100), Text: bytesOf(func(r row) int64 { return r.Reserved }), Value: func(r row) int64 { return r.Reserved }},
		{Head: "peak", Width: size, Text: bytesOf(func(r row) int64 { return r.PeakAllocated }), Value: func(r row) int64 { return r.PeakAllocated }},
		{Head: activationHead, Width: from(110), Text: bytesOf(activations), Value: activations},
		{Head: skewHead, Width: page.From(70, 5), Text: skewText, Value: func(r row) int64 { return r.PeakAllocated }},
		{Head: headroomHead, Width: size, Text: headroomText, Style: headroomStyle, Compare: compareHeadroom},
		{Head: leakHead, Width: from(78), Text: leakText, Value: func(r row) int64 { return r.Growth }},
		{Head: trendHead, Rest: page.All, Left: true, Searched: true, Text: stateText, Draw: drawTrend},
		{Searched: true, Text: func(r row) string { return r.Name }},
	}
}

// hostWidth is that of the hosts' column, which a job of one host does not have.
func (p *Page) hostWidth(w int) int {
	if p.hosts < 2 {
		return 0
	}
	return page.From(92, max(w/10, 9))(w)
}

// number is the rank's number. It is unknown for a rank that never answered.
func number(r *ranks.Row) string {
	if r.Rank.Rank == ranks.Unranked {
		return "?"
	}
	return strconv.Itoa(r.Rank.Rank)
}

// bytesOf writes a size, and a dash for an unknown one.
func bytesOf(size func(row) int64) func(row) string {
	return func(r row) string {
		if n := size(r); n > 0 {
			return screen.Bytes(n)
		}
		return "-"
	}
}

func activations(r row) int64 { return r.AtPeak[trace.Activation] }

func timeText(r row) string {
	if r.StepDuration == 0 {
		return "-"
	}
	return screen.Micros(r.StepDuration / 1000)
}

// skewText writes by how much the peak is above the median of all.
func skewText(r row) string {
	if r.PeakAllocated == 0 || r.job.median == 0 {
		return "-"
	}
	share := 100 * float64(r.PeakAllocated-r.job.median) / float64(r.job.median)
	return signed(strconv.FormatFloat(share, 'f', 0, 64) + "%")
}

// signed writes a number with its sign, and 0 without one.
func signed(text string) string {
	switch {
	case text == "-0%":
		return "0%"
	case text[0] == '-' || text[0] == '0':
		return text
	}
	return "+" + text
}

func headroomText(r row) string {
	if n, ok := r.Headroom(); ok {
		return screen.Bytes(n)
	}
	return "-"
}

// tight is the share of a device's memory below which headroom is little.
const tight = 20

// headroomStyle highlights a rank that will soon run out of memory. Its place at
// the top and the number say the same.
func headroomStyle(r row) screen.Style {
	n, ok := r.Headroom()
	switch {
	case !ok:
		return screen.Dim
	case n <= 0:
		return screen.Bad
	case n < r.Capacity/tight:
		return screen.Warn
	}
	return styleOf(r)
}

// compareHeadroom puts ranks that ran out of memory first, then those that will
// soon: with the least headroom or, if that is unknown, the most reserved bytes.
func compareHeadroom(a, b row) int {
	left, known := a.Headroom()
	right, alsoKnown := b.Headroom()
	if short, other := a.OutOfMemory > 0, b.OutOfMemory > 0; short != other {
		return first(short)
	}
	if known != alsoKnown {
		return first(known)
	}
	return cmp.Or(cmp.Compare(left, right), cmp.Compare(b.PeakReserved, a.PeakReserved), cmp.Compare(b.PeakAllocated, a.PeakAllocated))
}

func first(is bool) int {
	if is {
		return -1
	}
	return 1
}

func leakText(r row) string {
	if r.Growth == 0 {
		return "-"
	}
	text := quantity.Bytes(r.Growth)
	if r.Growth > 0 {
		text = "+" + text
	}
	return text
}

// stateText says what is wrong with a rank, "" for nothing.
func stateText(r row) string {
	if r.OutOfMemory == 0 {
		return r.Problem
	}
	text := outOfMemory
	if r.OutOfMemory > 1 {
		text += " " + screen.Count(int(r.OutOfMemory)) + "×"
	}
	if r.Problem != "" {
		text += ", " + r.Problem
	}
	return text
}

const outOfMemory = "out of memory"

// styleOf dims a lost rank, and highlights one that ran out of memory.
func styleOf(r row) screen.Style {
	switch {
	case r.OutOfMemory > 0:
		return screen.Bad
	case r.Problem != "":
		return screen.Dim
	}
	return screen.Plain
}

// drawTrend draws a rank's problem and, in the remaining room, its recent
// allocated bytes.
func drawTrend(c screen.Canvas, r row) {
	style, room := screen.Style{Fg: screen.Accent}, c.Width()
	if text := stateText(r); text != "" {
		problem := screen.Warn
		if r.OutOfMemory > 0 {
			problem = screen.Bad
		}
		if screen.Width(text) > room && r.OutOfMemory > 0 {
			text = outOfMemory // the pane says how often
		}
		c.Fit(0, 0, room, text, problem)
		style, room = screen.Dim, room-screen.Width(text)-1
	}
	if room > 0 {
		page.SparkWithin(c, c.Width()-room, 0, room, r.Recent, r.job.least, r.job.most, style)
	}
}
