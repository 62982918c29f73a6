package overview

import (
	"strconv"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// program lists the settings that the last step used, as many beside each other
// as fit.
func (p *Page) program() section {
	step := p.Scene.StepAt(p.Scene.Cursor())
	if step == nil || len(step.Settings) == 0 {
		return section{}
	}
	const key, value = 14, 14
	columns := max((min(p.w, p.columnWidth())-2)/(key+value), 1)
	rows := (len(step.Settings) + columns - 1) / columns
	return section{1 + rows, func(c screen.Canvas) {
		c.Rule(0, "Settings of step "+screen.Count(int(step.Number)), "", false)
		for i, s := range step.Settings {
			x, y := 1+i/rows*(key+value), 1+i%rows
			c.Fit(x, y, key-1, s.Key, screen.Dim)
			c.Fit(x+key, y, value-1, s.Value, screen.Plain)
		}
	}}
}

// columnWidth is how wide the column is in which the settings stand.
func (p *Page) columnWidth() int {
	left, right := split(p.w)
	if right > 0 {
		return right
	}
	return left
}

// liveSource says which program it is and what watching it costs.
func (p *Page) liveSource() section {
	live, s := p.Scene.Live(), &p.Scene.Summary
	lines := []page.Line{page.Pair("program", live.Command)}
	who := "pid " + strconv.Itoa(live.PID)
	if live.User != "" {
		who += " of " + live.User
	}
	if live.Started > 0 {
		who += ", since " + time.UnixMicro(live.Started).UTC().Format("2006-01-02 15:04:05 UTC")
	}
	lines = append(lines, page.Pair("process", who),
		page.Pair("kept", screen.Plural(s.Events, "event")+", "+screen.Plural(s.DistinctStacks, "stack")+", "+
			screen.Plural(len(p.Scene.Trace().Steps), "step")))
	lines = append(lines, gapLines(p.Scene.Gaps())...)
	for _, notice := range p.Scene.Trace().Notices {
		lines = append(lines, page.Line{Label: "notice", Text: notice, Style: screen.Warn})
	}
	return sourceSection(p.Scene.Trace().Info.Kind, lines)
}

// gapLines says what is missing, of equal gaps how many there are: a program that looks
// at some steps has one before each look.
func gapLines(gaps []trace.Gap) (lines []page.Line) {
	times := make(map[string]int)
	for i := range gaps {
		text := page.GapText(&gaps[i]) + ": " + gaps[i].Reason
		if times[text]++; times[text] == 1 {
			lines = append(lines, page.Line{Label: "missing", Text: text, Style: screen.Warn})
		}
	}
	for i := range lines {
		if n := times[lines[i].Text]; n > 1 {
			lines[i].Text += ", " + screen.Count(n) + " times"
		}
	}
	return lines
}
