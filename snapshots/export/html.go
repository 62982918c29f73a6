package export

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// HTML
//
// One self-contained page: the findings, the timeline as SVG, and the holders of
// the memory at a moment. Its own script, page.js, adds a cursor and zoom to the
// timeline. Package html/template escapes all text from the file. In case
// escaping ever fails, a policy in the page's head forbids the browser to load
// anything, and to run any other script.

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
	Name, Title string
	Guessed     bool
	Findings    []htmlFinding
	Numbers     []htmlNumbers
	Chart       *chart // nil without a history
	Categories  []htmlShare
	Stacks      []htmlStack
	Shown, All  int // stacks
}

type htmlFinding struct{ Severity, Text string }

type htmlNumbers struct{ Name, Start, Peak, End string }

// htmlShare is a part of the live memory.
type htmlShare struct {
	Name, Class, Size string
	Percent           string
}

type htmlStack struct {
	htmlShare
	Count  string
	Frames []string // innermost first
}

// htmlStacks is how many stacks a page lists.
const htmlStacks = 25

func writeHTML(w io.Writer, t *trace.Trace, o Options) error {
	snapshots, err := o.snapshots(o.indexes(t))
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(pageScript))
	page := htmlPage{
		ScriptHash: "sha256-" + base64.StdEncoding.EncodeToString(hash[:]), Script: template.JS(pageScript),
		Name: sourceName(t), Source: sourceFacts(t),
	}
	for _, notice := range t.Notices {
		page.Notices = append(page.Notices, label(notice))
	}
	for _, s := range snapshots {
		page.Devices = append(page.Devices, s.html(o.AllFrames))
	}
	return pageTemplate().Execute(w, page)
}

func sourceFacts(t *trace.Trace) []string {
	var facts []string
	if t.Info.Bytes > 0 {
		facts = append(facts, quantity.Bytes(t.Info.Bytes))
	}
	for _, fact := range []string{t.Info.Container, t.Info.Writer} {
		if fact != "" {
			facts = append(facts, label(fact))
		}
	}
	return facts
}

func (s snapshot) html(allFrames bool) htmlDevice {
	x := s.index
	d := htmlDevice{
		Name: deviceName(x), Title: s.title(), Guessed: x.Guessed(),
		Numbers: s.htmlNumbers(), Categories: s.htmlCategories(),
	}
	for _, f := range x.Findings() {
		d.Findings = append(d.Findings, htmlFinding{f.Severity.String(), trace.Printable(f.Text())})
	}
	if x.History() {
		d.Chart = s.chart()
	}
	holders := x.HoldersAt(s.event)
	d.All, d.Shown = len(holders), min(len(holders), htmlStacks)
	for _, h := range holders[:d.Shown] {
		d.Stacks = append(d.Stacks, s.htmlStack(h, allFrames))
	}
	return d
}

func (s snapshot) htmlNumbers() []htmlNumbers {
	n := s.index.Summary()
	return []htmlNumbers{
		{"requested", quantity.Bytes(n.InitialRequested), quantity.Bytes(n.PeakRequested), quantity.Bytes(n.FinalRequested)},
		{"reserved", quantity.Bytes(n.InitialReserved), quantity.Bytes(n.PeakReserved), quantity.Bytes(n.FinalReserved)},
		{"cached, not in use", "", "", quantity.Bytes(n.Free)},
		{"rounding", "", "", quantity.Bytes(n.Active - n.Requested)},
	}
}

// htmlCategories lists the live memory by category. As in the chart, memory of
// unknown use from before recording is separate.
func (s snapshot) htmlCategories() []htmlShare {
	sums := s.index.CategoriesAt(s.event)
	held := s.index.UnknownAt(s.event)
	sums[trace.OtherCategory] -= held
	var shares []htmlShare
	for i, category := range trace.Categories {
		if bytes := sums[category]; bytes > 0 {
			shares = append(shares, s.share(category.String(), bandClass(i), bytes))
		}
	}
	if held > 0 {
		shares = append(shares, s.share(analysis.HeldBefore, bandClass(trace.CategoryCount), held))
	}
	return shares
}

func (s snapshot) share(name, class string, bytes int64) htmlShare {
	percent := "0"
	if whole := s.index.RequestedAt(s.event); whole > 0 {
		percent = fmt.Sprintf("%.1f", float64(bytes)/float64(whole)*100)
	}
	return htmlShare{Name: name, Class: class, Size: quantity.Bytes(bytes), Percent: percent}
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
