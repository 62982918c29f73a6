package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/category"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Text writes the report for people, in lines of at most width cells: first the
// problems, then the numbers, then the holders of the memory at the peak.
func (r *Report) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	r.header(p)
	for _, notice := range r.notices {
		p.wrap("  note: ", notice)
	}
	for _, i := range r.shortestFirst() {
		p.line("")
		r.Devices[i].text(p, r.indexes[i])
	}
	if len(r.indexes) == 0 {
		p.line("")
		p.line("No device has a segment or an event.")
	}
	if r.Pinned != nil {
		r.Pinned.text(p)
	}
	return p.w.Flush()
}

// shortestFirst returns the devices in the order of the text: the device that ran
// out of memory first comes before all others.
func (r *Report) shortestFirst() []int {
	order := make([]int, len(r.indexes))
	for i := range order {
		order[i] = i
	}
	if len(order) < 2 {
		return order
	}
	for _, s := range slices.Backward(analysis.Shortages(r.indexes[0].Trace())) {
		at := slices.IndexFunc(order, func(i int) bool { return r.Devices[i].Device == s.Device })
		i := order[at]
		order = slices.Insert(slices.Delete(order, at, at+1), 0, i)
	}
	return order
}

func (r *Report) header(p *page) {
	parts := append([]string{filepath.Base(r.Source.Path)}, r.Source.Facts()...)
	if r.Annotations > 0 {
		parts = append(parts, quantity.Plural(r.Annotations, "annotation"))
	}
	p.wrap("", strings.Join(parts, ", "))
}

func (d *Device) text(p *page, x *analysis.Index) {
	p.line("Device %d: %s, %s, %s", d.Device, quantity.Plural(d.Events, "event"), x.SegmentsText(d.Segments), quantity.Plural(d.Blocks, "block"))
	p.line("")
	findingLines(p, d.found)
	d.failureLines(p, x, d.wouldFit)
	d.numbers(p)
	d.Card.text(p)
	d.Host.text(p)
	d.poolLines(p)
	graphLines(p, d.Graphs)
	d.Steps.text(p)
	d.categories(p, x)
	d.labels(p)
	d.gathered(p)
	d.lineLines(p, x, "; --by line shows all")
	d.stackLines(p, x)
}

// failureLines explains the last request that ran out of memory, which usually
// ended the job.
func (d *Device) failureLines(p *page, x *analysis.Index, remedies func(*page)) {
	f := d.failure
	if f == nil {
		return
	}
	p.line("")
	p.line("  Out of memory at event %s", quantity.Count(f.Event))
	for _, fact := range f.Facts(x.StackName) {
		p.wrap(fmt.Sprintf("  %-11s", fact.Label), fact.Text)
	}
	remedies(p)
	for i, row := range f.Lines.Rows[:min(len(f.Lines.Rows), 5)] {
		if row.Self == 0 {
			break
		}
		label := ""
		if i == 0 {
			label = "held by"
		}
		p.line("  %-11s%10s  %s", label, quantity.Bytes(row.Self), row.Name)
	}
}

// wouldFit writes the changes with which, by the recording, the request would
// have succeeded.
func (d *Device) wouldFit(p *page) {
	for i, change := range d.failure.WouldFit {
		label := ""
		if i == 0 {
			label = "would fit"
		}
		p.wrap(fmt.Sprintf("  %-11s", label), change.String())
	}
	if len(d.failure.WouldFit) > 0 && d.failure.Open {
		p.wrap(fmt.Sprintf("  %-11s", ""), "this request would; what the step needs after it is not known")
	}
}

func (d *Device) numbers(p *page) {
	p.line("")
	p.line("  %-12s%12s%12s%12s", "", "at start", "peak", "at end")
	for _, n := range d.Numbers() {
		p.line("  %-12s%12s%12s%12s", n.Name, n.Start, n.Peak, n.End)
	}
}

func (d *Device) categories(p *page, x *analysis.Index) {
	c := &d.CategoriesAtPeak
	whole := int64(0)
	for _, bytes := range c.Bytes {
		whole += bytes
	}
	if whole == 0 {
		return
	}
	title := "At the peak, by category"
	if c.Guessed {
		title += " (" + d.guessed(whole) + ")"
	}
	p.line("")
	p.line("  %s", title)
	var doubtful []string
	shares, _ := x.SharesAt(d.PeakEvent)
	for _, share := range shares {
		switch {
		case share.Bytes > 0:
			p.line("  %-22s%12s %3d%%  %s", share.Name, quantity.Bytes(share.Bytes), analysis.Percent(share.Bytes, whole), bar(share.Bytes, whole, 30))
		case share.Empty == analysis.NotKnown:
			doubtful = append(doubtful, share.Name)
		}
	}
	if doubtful != nil {
		p.wrap("  not known: ", strings.Join(doubtful, ", "))
	}
}

// labels lists what the program itself calls most memory at the peak.
func (d *Device) labels(p *page) {
	const shown = 8
	var rows []lines.Row
	for _, l := range d.LabelsAtPeak[:min(len(d.LabelsAtPeak), shown)] {
		rows = append(rows, lines.Row{Name: l.Name, Self: l.Bytes, SelfCount: l.Count})
	}
	if len(rows) > 0 {
		p.line("")
		p.line("  At the peak, by the program's labels (the %d largest of %d)", len(rows), len(d.LabelsAtPeak))
		p.rows(rows, d.PeakRequested)
	}
}

// gathered lists which weights are gathered at the peak, and when.
func (d *Device) gathered(p *page) {
	const shown = 8
	var rows []lines.Row
	for _, g := range d.GatheredAtPeak[:min(len(d.GatheredAtPeak), shown)] {
		rows = append(rows, lines.Row{Name: g.Name + ", " + g.When(), Self: g.Bytes, SelfCount: g.Count})
	}
	if len(rows) > 0 {
		p.line("")
		p.line("  Gathered at the peak (the first %d of %d)", len(rows), len(d.GatheredAtPeak))
		p.rows(rows, d.PeakRequested)
	}
}

// guessed says how much of the bytes at the peak is a guess, where the program says what some are for.
func (d *Device) guessed(of int64) string {
	noted, guessed := false, int64(0)
	for _, r := range d.RulesAtPeak {
		if noted = noted || r.Evidence == category.Exact; r.Guessed() {
			guessed += r.Bytes
		}
	}
	if !noted {
		return "guessed"
	}
	return fmt.Sprintf("%d%% guessed", analysis.Percent(guessed, of))
}

// lineLines lists the lines of the program that hold most at the peak, and says how to see more of them.
func (d *Device) lineLines(p *page, x *analysis.Index, more string) {
	const shown = 8
	table := analysis.LinesAt(x, d.PeakEvent, lines.Line, false)
	rows := slices.DeleteFunc(table.Rows, func(r lines.Row) bool { return r.SelfCount == 0 })
	if len(rows) < 2 {
		return // all memory is from one place
	}
	p.line("")
	p.line("  At the peak, by line (the %d largest of %d%s)", min(shown, len(rows)), len(rows), more)
	p.rows(rows[:min(shown, len(rows))], d.PeakRequested)
}

// rows writes lines of the program with what they hold of some bytes.
func (p *page) rows(rows []lines.Row, of int64) {
	for _, r := range rows {
		lead := fmt.Sprintf("  %9s %3d%% %6dx ", quantity.Bytes(r.Self), analysis.Percent(r.Self, of), r.SelfCount)
		p.line("%s%s", lead, fitName(r.Name, p.width-cells(lead)))
	}
}

func (d *Device) stackLines(p *page, x *analysis.Index) {
	const shown = 5
	holders, _ := x.AtPeak()
	if len(holders) == 0 {
		return
	}
	p.line("")
	p.line("  At the peak, by stack (the %d largest of %d)", min(shown, len(holders)), len(holders))
	for _, h := range holders[:min(shown, len(holders))] {
		lead := fmt.Sprintf("  %9s %3d%% %6dx ", quantity.Bytes(h.Bytes), analysis.Percent(h.Bytes, d.PeakRequested), h.Count)
		holderLines(p, x, lead, h)
	}
}

// siteFrames is how many frames of a stack a text has.
const siteFrames = 3

// holderLines writes a holder: the most telling frames of its stack below each
// other, with a lead before the first.
func holderLines(p *page, x *analysis.Index, lead string, h analysis.Holder) {
	if h.Stack <= trace.EmptyStack {
		p.line("%s%s", lead, x.HolderName(h))
		return
	}
	for _, frame := range x.Telling(h.Stack, siteFrames) {
		p.line("%s%s", lead, tail(x, frame, p.width-cells(lead)))
		lead = strings.Repeat(" ", cells(lead))
	}
}

// tail writes a frame into a number of cells.
func tail(x *analysis.Index, frame trace.FrameID, width int) string {
	return withFolders(x.FrameLabel(frame), x.ShortLabel(frame), width)
}

// withFolders writes a frame into a number of cells. It cuts the start of the path,
// folder by folder, because the end distinguishes files.
func withFolders(label, short string, width int) string {
	folders, more := strings.CutSuffix(strings.ReplaceAll(label, `\`, "/"), short)
	lead, left := "", cells(folders)+cells(short)
	for more && folders != "" {
		if cells(lead)+left <= width {
			return lead + folders + short
		}
		var folder string
		folder, folders, more = strings.Cut(folders, "/")
		lead, left = ".../", left-cells(folder)-1
	}
	return short
}
