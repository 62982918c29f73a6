package overview

import (
	"math"
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// # Live
//
// For a running program the gauges show the present, or the cursor's place after
// the user moved it back. The other parts show the peak of the last step, see at.
// The program itself reports allocated bytes and peaks within steps, exact to the
// byte. The waterfall comes from its events and the driver's numbers.

// live reports whether the trace is of a program that reports more than its
// memory.
func (p *Page) live() bool { return p.Scene.Live() != nil }

// stepLine shows the progress of training in one row.
func (p *Page) stepLine() section {
	return section{1, func(c screen.Canvas) {
		step := p.Scene.StepAt(p.Scene.Cursor())
		if step == nil {
			c.Fit(1, 0, c.Width()-2, "no step has ended yet", screen.Dim)
			return
		}
		x := c.Text(1, 0, "step "+screen.Count(int(step.Number)), screen.Strong)
		for _, part := range stepParts(step, p.Scene.Live().RehearsedOn != "") {
			x = c.Text(x+2, 0, part.label+" ", screen.Dim)
			x = c.Text(x, 0, part.value, screen.Plain)
		}
		if step.Skipped {
			x = c.Text(x+2, 0, "skipped", screen.Warn)
		}
		p.drawStepTimes(c, x+2)
	}}
}

// liveSections are the parts of the page of a running program.
func (p *Page) liveSections(f frame) (l, r []section) {
	if f.compact {
		return []section{
			p.stepLine(), p.briefly(), p.liveGauges(), p.cardLedger(true), p.hostLedger(true), p.waterfall(true), p.holders(6), p.history(4), p.steps(), p.ooms(), p.program(), p.liveSource(),
		}, nil
	}
	brief := f.right == 0 && f.h < roomy
	below := []section{p.liveGauges(), p.waterfall(false), p.cardLedger(brief), p.hostLedger(brief)}
	rows := max(f.h-f.total(below)-2-2*f.gap(), 4) // what is left beside the step and a title
	l = append([]section{p.stepLine(), p.findings(f.left, min(rows, f.findingRows()))}, below...)
	if f.right == 0 {
		left := f.h - f.total(l) - 2 - f.gap()
		return append(l, p.history(max(left, 4)), p.steps(), p.program(), p.holders(6), p.ooms(), p.pools(), p.graphs(), p.liveSource(), p.settings()), nil
	}
	r = []section{p.steps(), p.holders(min(max(f.h/3, 6), holderCount)), p.program(), p.ooms(), p.pools(), p.graphs(), p.liveSource(), p.settings()}
	left := f.h - f.total(r) - 2 - f.gap()
	return l, append([]section{p.history(min(max(left, 5), 24))}, r...)
}

// roomy is the height from which a single column has room for all rows of both
// ledgers.
const roomy = 50

type stepPart struct{ label, value string }

// stepParts describes a step. A rehearsed step computes no loss.
func stepParts(s *trace.Step, rehearsed bool) []stepPart {
	var parts []stepPart
	switch {
	case rehearsed:
		parts = append(parts, stepPart{"loss", "not computed"})
	case !s.NoLoss:
		parts = append(parts, stepPart{"loss", strconv.FormatFloat(s.Loss, 'f', 4, 64)})
	}
	parts = append(parts, stepPart{"in", screen.Micros(s.Duration / 1000)})
	if s.Duration > 0 && s.Tokens > 0 {
		parts = append(parts, stepPart{"tokens/s", screen.Count(int(float64(s.Tokens) / float64(s.Duration) * 1e9))})
	}
	return parts
}

// drawStepTimes draws how long the last steps took, if there is enough room.
func (p *Page) drawStepTimes(c screen.Canvas, from int) {
	const label, least, most = "step times ", 8, 32
	w := min(c.Width()-1-from-len(label), most)
	if w < least {
		return
	}
	steps := p.Scene.StepsTo(p.Scene.Cursor())
	times := make([]int64, 0, w)
	for i := max(len(steps)-w, 0); i < len(steps); i++ {
		times = append(times, steps[i].Duration)
	}
	x := c.Width() - 1 - w
	c.Text(x-len(label), 0, label, screen.Dim)
	page.Spark(c, x, 0, w, times, screen.Style{Fg: screen.Accent})
}

// liveGauges shows the allocated and the reserved bytes, and the peaks of both
// within the last step. Bars are relative to the device if its size is known.
func (p *Page) liveGauges() section {
	all, top := p.liveNumbers()
	return section{1 + len(all), func(c screen.Canvas) {
		title := "Memory, " + p.hereText()
		if p.counted() != nil {
			title = "Memory, after the last step"
		}
		c.Rule(0, title, p.scaleText(top, c.Width()-screen.Width(title)-8), false)
		for i, g := range all {
			drawGauge(c, 1+i, g, top)
		}
	}}
}

// counted returns the last step if the screen shows the present and the allocator's
// counters at that step are newer than the tables, else nil.
func (p *Page) counted() *trace.Step {
	if step := p.Scene.StepAt(p.Scene.Last()); p.Scene.AtEnd() && p.Scene.Behind() > 0 && step.Reserved > 0 {
		return step
	}
	return nil
}

func (p *Page) liveNumbers() ([]gauge, int64) {
	s := &p.Scene.Summary
	allocated, reserved, segments := s.Allocated, s.Reserved, s.Segments
	if step := p.counted(); step != nil {
		allocated, reserved = step.Allocated, step.Reserved
	}
	if !p.Scene.AtEnd() {
		allocated, reserved, segments = 0, p.Scene.Index.ReservedAt(p.Scene.Cursor()), 0
		if f, ok := p.asked.Answer(); ok && f.state != nil {
			allocated, reserved, segments = f.state.Allocated, f.state.Reserved, len(f.state.Segments)
		}
	}
	used, cached := screen.Style{Fg: screen.Band0}, screen.Style{Fg: screen.Muted}
	all := []gauge{
		{name: "allocated", bytes: allocated, note: "blocks handed out", style: used, trail: p.trail(false)},
		{name: "reserved", bytes: reserved, note: p.Scene.Index.SegmentsText(segments), style: cached, trail: p.trail(true)},
	}
	top := max(reserved, s.Reserved, s.PeakReserved, 1)
	if step := p.Scene.MeasuredStepAt(p.Scene.Cursor()); step != nil {
		most := p.highest.of(p.Scene.StepsTo(p.Scene.Cursor()))
		all = append(all,
			gauge{name: "peak allocated", bytes: step.PeakAllocated, note: mostText(most.bytes, most.number), style: used},
			gauge{name: "peak reserved", bytes: step.PeakReserved, note: "in step " + screen.Count(int(step.Number)), style: cached})
		top = max(top, step.PeakReserved, most.bytes)
	}
	return all, p.scale(top)
}

// scale returns the bytes of a full bar: the whole device, or, if bars would then
// be too short to read, the power of two above the used bytes.
func (p *Page) scale(most int64) int64 {
	const least = 5 // times
	if g := p.Scene.Index.GaugeAt(p.Scene.Cursor()); g != nil && g.Total > 0 && g.Total < least*most {
		return max(g.Total, most)
	}
	top := int64(1)
	for top < most && top <= math.MaxInt64/2 {
		top *= 2
	}
	return max(top, most)
}

// highest is the highest peak of some steps, and its step. It remembers which
// steps it has covered: a fast program has thousands, and the screen asks at
// every redraw.
type highest struct {
	bytes, number int64
	ever          int64 // the program's own highest value
	steps         int   // how many steps it covers
	last          int64 // when the last of them ended
}

// of updates it for steps. It looks only at steps that have been added.
func (h *highest) of(steps []trace.Step) highest {
	if h.steps == 0 || h.steps > len(steps) || steps[h.steps-1].Time != h.last {
		*h = highest{}
	}
	for i := h.steps; i < len(steps); i++ {
		peak, ever := steps[i].PeakAllocated, steps[i].HighestAllocated
		if h.ever > 0 && ever > h.ever {
			peak = ever // it rose in this step
		}
		h.ever = max(h.ever, ever)
		if peak > h.bytes {
			h.bytes, h.number = peak, steps[i].Number
		}
	}
	if h.steps = len(steps); h.steps > 0 {
		h.last = steps[h.steps-1].Time
	}
	return *h
}

func mostText(bytes, number int64) string {
	return "most " + screen.Bytes(bytes) + ", step " + screen.Count(int(number))
}

// scaleText gives the bytes of a full bar and, as far as there is room, the
// driver's numbers for the whole device.
func (p *Page) scaleText(top int64, room int) string {
	text := "bars to " + screen.Bytes(top)
	g := p.Scene.Index.GaugeAt(p.Scene.Cursor())
	if g == nil {
		return text
	}
	for _, part := range []struct {
		known bool
		text  string
	}{
		{g.Used >= 0 && g.Total > 0, "device " + screen.Bytes(g.Used) + " of " + screen.Bytes(g.Total)},
		{g.Others > 0, screen.Bytes(g.Others) + " by others"},
		{g.Utilisation >= 0, strconv.FormatInt(g.Utilisation, 10) + "% busy"},
		{g.Temperature > 0, strconv.FormatInt(g.Temperature, 10) + " °C"},
		{g.Power > 0, strconv.FormatInt(g.Power/1000, 10) + " W"},
	} {
		if longer := text + " · " + part.text; part.known && screen.Width(longer) <= room {
			text = longer
		}
	}
	return text
}

// trail returns the level in the last buckets of time.
func (p *Page) trail(reserved bool) []int64 {
	f, ok := p.asked.Answer()
	if !ok {
		return nil
	}
	levels := make([]int64, len(f.history.Columns))
	for i := range f.history.Columns {
		levels[i] = f.history.Columns[i].Total
		if reserved {
			levels[i] = f.history.Columns[i].Reserved
		}
	}
	return levels
}
