package export

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sync"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// HTML
//
// One self-contained page, which begins with the answer: what went wrong, or
// else the peak. Then the other findings, the timeline as SVG, and the holders of
// the memory at a moment. Its own script, page.js, adds a cursor and zoom to the
// timeline, and zoom to the stacks. Package html/template escapes all text from
// the file. In case escaping ever fails, a policy in the page's head forbids the
// browser to load anything, and to run any other script.

//go:embed page.html
var pageText string

//go:embed page.js
var pageScript string

// pageTemplate is parsed when the first page is written: most commands write
// none.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

type htmlPage struct {
	// ScriptHash identifies the script in the policy.
	ScriptHash string
	Script     template.JS

	Name    string
	Source  []string
	Notices []string
	Devices []htmlDevice
}

type htmlDevice struct {
	ID, Name, Title string
	Guessed         bool
	Answer          report.Finding
	WouldFit        []analysis.Change
	Findings        []report.Finding // the others
	Numbers         []report.Numbers
	Chart           *chart // nil without a history
	Flame           *flame // nil where nothing is live
	Lines           []htmlLine
	AllLines        int
	Categories      []htmlShare
	Stacks          []htmlStack
	AllStacks       int
}

// htmlShare is a part of the live memory.
type htmlShare struct {
	Name, Class, Size string
	Percent           string
}

type htmlLine struct {
	htmlShare
	Count, Total string
}

type htmlStack struct {
	htmlShare
	Count  string
	Frames []string // innermost first
}

// htmlRows is how many lines and stacks a page lists.
const htmlRows = 25

func writeHTML(w io.Writer, t *trace.Trace, o Options) error {
	r := o.report(t)
	if o.AtAnswer {
		o.At = analysis.Peak
	}
	snapshots, err := o.snapshots(o.indexes(t))
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(pageScript))
	page := htmlPage{
		ScriptHash: "sha256-" + base64.StdEncoding.EncodeToString(hash[:]), Script: template.JS(pageScript),
		Name: sourceName(t), Source: r.Source.Facts(),
	}
	for _, notice := range t.Notices {
		page.Notices = append(page.Notices, label(notice))
	}
	for i, s := range snapshots {
		page.Devices = append(page.Devices, s.html(&r.Devices[i], o))
	}
	return pageTemplate().Execute(w, page)
}

func (s snapshot) html(r *report.Device, o Options) htmlDevice {
	x := s.index
	answer, others := answered(r.Findings)
	if o.AtAnswer && answer.Event != nil && answer.Severity == analysis.Problem.String() {
		s.event = *answer.Event
	}
	d := htmlDevice{
		ID: fmt.Sprintf("device-%d", x.Device().ID), Name: deviceName(x), Title: s.title(), Guessed: x.Guessed(),
		Answer: answer, Findings: others,
		Numbers: r.Numbers(), Categories: s.htmlCategories(), Flame: s.flame(o.AllFrames),
	}
	if answer.Kind == analysis.ShortageFinding.Name && len(r.OOM) > 0 {
		d.WouldFit = r.OOM[len(r.OOM)-1].WouldFit
	}
	if x.History() {
		d.Chart = s.chart()
	}
	holders := x.HoldersAt(s.event)
	table := analysis.LinesOf(x, holders, lines.Line, false)
	d.AllLines, d.AllStacks = len(table.Rows), len(holders)
	for _, row := range table.Rows[:min(d.AllLines, htmlRows)] {
		d.Lines = append(d.Lines, htmlLine{s.share(label(row.Name), "", row.Self), quantity.Count(row.SelfCount), quantity.Bytes(row.Total)})
	}
	for _, h := range holders[:min(d.AllStacks, htmlRows)] {
		d.Stacks = append(d.Stacks, s.htmlStack(h, o.AllFrames))
	}
	return d
}

// answered returns the finding that a hurried reader opens the page for, and the
// others: the first, if it is a problem, else the peak.
func answered(found []report.Finding) (answer report.Finding, others []report.Finding) {
	all := slices.Clone(found)
	for i := range all {
		all[i].Text = trace.Printable(all[i].Text)
		all[i].Where = slices.Clone(all[i].Where)
		for k, where := range all[i].Where {
			all[i].Where[k] = label(where)
		}
	}
	at := 0
	if len(all) > 0 && all[0].Severity != analysis.Problem.String() {
		at = max(0, slices.IndexFunc(all, func(f report.Finding) bool { return f.Kind == analysis.PeakFinding.Name }))
	}
	if len(all) == 0 {
		return report.Finding{Severity: analysis.Info.String(), Text: "Nothing was found."}, nil
	}
	answer = all[at] // before what follows moves into its place
	return answer, slices.Delete(all, at, at+1)
}

// htmlCategories lists the live memory by category.
func (s snapshot) htmlCategories() (shares []htmlShare) {
	found, _ := s.index.SharesAt(s.event)
	for _, share := range found {
		if share.Bytes > 0 {
			shares = append(shares, s.share(share.Name, bandClass(share.Band), share.Bytes))
		}
	}
	return shares
}

func (s snapshot) share(name, class string, bytes int64) htmlShare {
	return htmlShare{Name: name, Class: class, Size: quantity.Bytes(bytes), Percent: percent(bytes, s.index.RequestedAt(s.event))}
}

// percent returns a part of a whole with one decimal.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "0"
	}
	return fmt.Sprintf("%.1f", float64(part)/float64(whole)*100)
}

func (s snapshot) htmlStack(h analysis.Holder, allFrames bool) htmlStack {
	stack := htmlStack{
		htmlShare: s.share(label(s.index.HolderName(h)), "", h.Bytes), Count: quantity.Count(h.Count),
	}
	for _, frame := range framesOf(s.index, h.Stack, allFrames) {
		stack.Frames = append(stack.Frames, label(s.index.FrameLabel(frame)))
	}
	return stack
}
