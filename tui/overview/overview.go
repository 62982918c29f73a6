// Package overview is the first page: the amount of memory, its categories, its
// holders, and the findings, in a few sentences and bars.
package overview

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/card"
	"github.com/memtop/memtop/snapshots/analysis/host"
	"github.com/memtop/memtop/snapshots/analysis/iteration"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

type moment uint8

const (
	atPeak moment = iota
	atEnd
	atCursor
	moments
)

// question selects the data that the page shows beyond the summary.
type question struct {
	index   page.Edition
	at      int
	columns int
	span    int64 // microseconds of a column; 0 shows the whole trace
	live    bool
	rules   bool // the rules behind the categories
}

// facts is the answer to a question.
type facts struct {
	at         int
	categories [trace.CategoryCount]int64
	shares     []analysis.Share // they add up to the live memory
	guessed    bool             // some categories are guesses
	looking    bool             // the program has not looked at a whole step yet
	rules      []analysis.RuleBytes
	state      *analysis.Map
	holders    []analysis.Holder
	names      []string // of the holders
	history    analysis.Timeline
	peaks      []analysis.StepPeak
	inferred   iteration.Evidence // what the steps were inferred from
	rows       []analysis.Row     // of the waterfall, of a running program only
	host       []analysis.Row     // memory on the host, not in the waterfall
	toHost     int64              // bytes that the step copied there
	fromHost   int64              // and back
	ledger     host.Ledger        // of the machine's memory
	hostGauge  *trace.Gauge       // that says so, nil for none
	card       card.Ledger        // of the device's memory
	cardGauge  *trace.Gauge       // that says so, nil for none
	gauged     bool               // the rows add up to the driver's used bytes
	failure    *account           // of the request that failed at this moment, nil for none
}

// holderCount is how many of the largest holders are shown at most.
const holderCount = 20

// Page is the overview.
type Page struct {
	page.Body
	asked    *ask.One[question, facts]
	looked   *ask.One[lookQuestion, lookout]
	compared *ask.One[page.Edition, *analysis.Finding]
	replayed *ask.One[replayQuestion, *whatif.Answer]
	found    []analysis.Finding // nil until they are known
	moment   moment
	finding  int
	rules    bool                      // are shown below the categories
	opened   [trace.CategoryCount]bool // whose rules alone are shown
	category int                       // that is chosen, among those that hold something; −1 where a finding is
	highest  highest
	lookedAt int64                               // the time of looking
	looking  page.Edition                        // what was looked at
	seen     [rowKinds][trace.CategoryCount]bool // rows of the waterfall that were ever more than nothing
	w, h     int
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{Body: page.NewBody(s, "Overview"), lookedAt: -1, category: -1}
	switch {
	case p.live() && s.Live().Ended != nil: // what happened last is why it is opened
		p.moment = atCursor
	case p.live(): // of its last step
	case len(s.OOMs) > 0: // where the cursor is to begin with
		p.moment = atCursor
	case !s.Index.History():
		p.moment = atEnd
	}
	p.asked = ask.New(s.Gate, func(ctx context.Context, q question) facts { return answer(ctx, q) })
	p.looked = ask.New(s.Gate, look)
	p.compared = ask.New(s.Gate, compare)
	p.replayed = ask.New(s.Gate, replay)
	p.bind()
	return p
}

func answer(ctx context.Context, q question) facts {
	x := q.index
	f := facts{at: q.at, categories: x.CategoriesAt(q.at)}
	if ctx.Err() != nil {
		return f
	}
	if q.at >= 0 && q.at <= x.End() && x.Device().Events.At(q.at).Kind == trace.OOM {
		f.failure = newAccount(x.Index, q.at)
	}
	f.state = x.SegmentsAt(q.at)
	f.holders = x.HoldersAt(q.at)
	f.shares, f.guessed = x.SharesAt(q.at)
	f.looking = x.Trace().Live != nil && x.Trace().Live.Looking
	if q.rules {
		f.rules = x.RulesAt(q.at)
	}
	f.holders = f.holders[:min(len(f.holders), holderCount)]
	stacks := make([]trace.StackID, len(f.holders))
	for i := range f.holders {
		stacks[i] = f.holders[i].Stack
	}
	f.names = x.StackNames(stacks)
	if ctx.Err() != nil {
		return f
	}
	switch {
	case q.span > 0:
		f.history = x.Buckets(q.span, q.columns)
	case x.History():
		f.history = x.Timeline(0, x.End()+1, q.columns)
	}
	f.peaks, f.inferred = analysis.StepPeaks(x.Index), x.StepsInferred()
	if q.live {
		gauge := x.GaugeAt(q.at)
		f.rows, f.gauged = x.Waterfall(q.at, gauge), gauge != nil && gauge.Used >= 0
		f.host = x.OnHost(q.at)
		f.toHost, f.fromHost = x.Crossed(q.at)
		f.ledger, f.hostGauge = x.HostLedger(q.at)
		f.card, f.cardGauge = x.CardLedger(q.at, f.state)
	}
	return f
}

// at returns the event that the page shows. For a running program it is the
// cursor's event. If the cursor is at the end it is the peak of the last step,
// unless the user wants the present: in the middle of a step categories come and
// go faster than a user can read.
func (p *Page) at() int {
	switch step := p.Scene.LastStep; {
	case p.live() && p.moment == atPeak && step != nil && p.Scene.AtEnd():
		return step.Peak
	case p.live():
		return p.Scene.Cursor()
	}
	switch p.moment {
	case atPeak:
		return p.Scene.Summary.PeakEvent
	case atCursor:
		return p.Scene.Cursor()
	default:
		return p.Scene.Last()
	}
}

// Refresh asks for the moment's facts and lays the page out.
func (p *Page) Refresh(w, h int) tea.Cmd {
	p.w, p.h = w, h
	looking := p.look()
	seen, _ := p.looked.Answer()
	p.found = seen.found
	if a := p.failed(); a != nil {
		p.found = slices.DeleteFunc(slices.Clone(p.found), func(f analysis.Finding) bool {
			return f.Kind == analysis.ShortageFinding && f.Where.Event == a.Event
		})
	}
	p.see()
	p.Detail.Resize(p.height(newFrame(w, h)), h)
	return tea.Batch(p.asked.Ask(p.question(w)), looking, p.askReplay())
}

// Rebase starts a new search for findings.
func (p *Page) Rebase(int) { p.lookedAt, p.looking = -1, page.Edition{} }

func (p *Page) question(w int) question {
	q := question{index: p.Scene.Edition(), at: p.at(), columns: max(historyWidth(w), 1), live: p.live(), rules: p.tells()}
	if p.Scene.Growing() {
		q.span = liveSpan
	}
	return q
}

// liveSpan is how much time a column of a running program's history stands for,
// in microseconds: the chart moves once in so long, not with every event.
const liveSpan = 1_000_000

// look asks for the findings. For a running program it does not ask in every
// frame, because sentences must not change faster than a user can read.
func (p *Page) look() tea.Cmd {
	if now := p.Scene.Clock() / lookSpan; !p.Scene.Growing() || now != p.lookedAt {
		p.lookedAt, p.looking = now, p.Scene.Edition()
	}
	beside, comparing := p.askBeside()
	return tea.Batch(p.looked.Ask(lookQuestion{p.looking, beside}), comparing)
}

// lookSpan is the time between two searches for findings, in microseconds.
const lookSpan = 500_000

// Update handles keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	if click, ok := msg.(tea.MouseClickMsg); ok {
		return p.click(click)
	}
	return p.Body.Update(msg)
}

// turn goes to the next moment. For a running program it goes to the present, or
// back to its last step.
func (p *Page) turn() {
	if p.moment = (p.moment + 1) % moments; p.live() && p.moment == atEnd {
		p.moment = atCursor
	}
}

// open goes to the moment of the chosen finding, or shows which rules gave the chosen
// category.
func (p *Page) open() tea.Cmd {
	if held := p.categories(); p.category >= 0 && p.category < len(held) {
		p.opened[held[p.category]] = !p.opened[held[p.category]]
		return nil
	}
	if p.finding >= len(p.found) {
		return nil
	}
	f := &p.found[p.finding]
	if f.Where.Event == analysis.NoEvent {
		return page.Say("this finding is about no moment in particular")
	}
	p.Scene.Move(f.Where.Event)
	return page.Open(pageOf(f))
}

// click chooses a finding; a click on the chosen one opens it.
func (p *Page) click(msg tea.MouseClickMsg) tea.Cmd {
	f := newFrame(p.w, p.h)
	if msg.X >= f.left {
		return nil
	}
	row := msg.Y + p.Detail.Offset - 1 - p.aboveFindings(f)
	if p.live() {
		row -= 1 + f.gap() // the step's line is above
	}
	if p.live() && f.compact {
		if row >= -1 && row < sentences-1 {
			return p.open()
		}
		return nil
	}
	for _, i := range p.shownFindings(f.left, f.findingRows()) {
		n := len(p.findingLines(i, f.left))
		if row >= 0 && row < n {
			if i == p.finding && p.category < 0 {
				return p.open()
			}
			p.finding, p.category = i, -1
			return nil
		}
		row -= n
	}
	return nil
}

func (p *Page) text() string {
	var b strings.Builder
	for i := range p.found {
		b.WriteString(p.found[i].Text())
		b.WriteByte('\n')
	}
	return b.String()
}

// findingLines wraps a finding.
func (p *Page) findingLines(i, w int) []string {
	return screen.Wrap(p.found[i].Text(), w-6)
}
