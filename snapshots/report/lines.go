package report

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Line is the memory of one source line. All sizes are bytes.
type Line struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
	Bytes    int64  `json:"bytes"`
	Count    int    `json:"count"`
}

// reportedLines is how many lines a report lists: more than any program's
// allocating lines, but few enough that a hostile file cannot fill a disk.
const reportedLines = 1000

// label names the line as in a sentence, alike on machines that have the program in
// different folders.
func (l *Line) label() string {
	if l.File == "" || l.File == "??" {
		return l.Function
	}
	return l.File[strings.LastIndexAny(l.File, `/\`)+1:] + trace.LineText(l.File, int32(l.Line)) + " " + l.Function
}

// linesOf lists the lines that allocated memory, the largest first. Memory
// without a stack has no line.
func linesOf(x *analysis.Index, holders []analysis.Holder) []Line {
	found := make([]Line, 0)
	for _, row := range analysis.LinesOf(x, analysis.KnownHolders(holders), lines.Line, false).Rows {
		if row.SelfCount > 0 && row.Frame != 0 && len(found) < reportedLines {
			file, line, function := source(x, row.Frame)
			found = append(found, Line{file, line, function, row.Self, row.SelfCount})
		}
	}
	return found
}

func source(x *analysis.Index, frame trace.FrameID) (file string, line int, function string) {
	t := x.Trace().Tables
	return t.FrameFile(frame), int(t.Frames[frame].Line), t.FrameName(frame)
}

// LinesSchema names the version of the JSON form of Lines.
const LinesSchema = "memtop.lines/1"

// Lines is memory by line, function, file or module. `memtop report --by` prints
// it. All sizes are bytes.
type Lines struct {
	Schema  string        `json:"schema"`
	By      string        `json:"by"`
	Devices []DeviceLines `json:"devices"`
}

// DeviceLines is the memory of one device at a moment.
type DeviceLines struct {
	Device int       `json:"device"`
	Event  int       `json:"event"` // the moment is right after this event, −1 before the first
	Bytes  int64     `json:"bytes"`
	Count  int       `json:"count"`
	Rows   []LineRow `json:"rows"` // the largest first
}

// LineRow is the memory of one line, function, file or module: its own, and
// together with its calls.
type LineRow struct {
	Name            string `json:"name"`     // as short as possible while it differs from the others
	File            string `json:"file"`     // of a line, function or file
	Line            int    `json:"line"`     // of a line
	Function        string `json:"function"` // of a line or function
	Own             bool   `json:"own"`      // the program's own code
	Bytes           int64  `json:"bytes"`
	Count           int    `json:"count"`
	CumulativeBytes int64  `json:"cumulative_bytes"`
	CumulativeCount int    `json:"cumulative_count"`
}

// LinesOptions say what to add up. The zero value is the peak, by line, of the
// program's own code.
type LinesOptions struct {
	By        lines.By
	At        analysis.Moment
	Libraries bool // also lines of installed packages, of PyTorch and of C++
}

// NewLines adds up the memory of all devices at one moment.
func NewLines(t *trace.Trace, o LinesOptions) (*Lines, error) {
	indexes := analysis.Indexes(t)
	events, err := o.At.Of(indexes)
	if err != nil {
		return nil, err
	}
	l := &Lines{Schema: LinesSchema, By: o.By.String(), Devices: make([]DeviceLines, len(indexes))}
	for i, x := range indexes {
		l.Devices[i] = deviceLines(x, events[i], o)
	}
	return l, nil
}

func deviceLines(x *analysis.Index, event int, o LinesOptions) DeviceLines {
	table := analysis.LinesAt(x, event, o.By, o.Libraries)
	d := DeviceLines{Device: x.Device().ID, Event: event, Bytes: table.Bytes, Count: table.Count, Rows: make([]LineRow, len(table.Rows))}
	for i, row := range table.Rows {
		r := LineRow{row.Name, "", 0, "", row.Own, row.Self, row.SelfCount, row.Total, row.TotalCount}
		if row.Frame != 0 && o.By != lines.Module {
			file, line, function := source(x, row.Frame)
			r.File = file
			if o.By != lines.File {
				r.Function = function
			}
			if o.By == lines.Line {
				r.Line = line
			}
		}
		d.Rows[i] = r
	}
	return d
}

// Text writes the tables for people, in lines of at most width cells.
func (l *Lines) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	for i := range l.Devices {
		if i > 0 {
			p.line("")
		}
		l.Devices[i].text(p, l.By)
	}
	if len(l.Devices) == 0 {
		p.line("No device has a segment or an event.")
	}
	return p.w.Flush()
}

func (d *DeviceLines) text(p *page, by string) {
	when := "after event " + quantity.Count(d.Event)
	if d.Event < 0 {
		when = "before the first event"
	}
	p.line("Device %d, %s: %s in %s", d.Device, when, quantity.Bytes(d.Bytes), quantity.Plural(d.Count, "allocation"))
	p.line("")
	p.line("  %10s %5s %10s %5s %7s  %s", "self", "", "with calls", "", "count", by)
	for _, r := range d.Rows {
		p.line("  %10s %4d%% %10s %4d%% %7s  %s", quantity.Bytes(r.Bytes), analysis.Percent(r.Bytes, d.Bytes),
			quantity.Bytes(r.CumulativeBytes), analysis.Percent(r.CumulativeBytes, d.Bytes), quantity.Count(r.CumulativeCount), fitName(r.Name, p.width-47))
	}
}

// fitName cuts a name. It cuts the end of "file:line function", because the line
// says more than the whole function, and the beginning of any other name.
func fitName(text string, width int) string {
	if place, _, ok := strings.Cut(text, " "); ok && cells(place)+len(cut) < width {
		return fit(text, width)
	}
	return fitLeft(text, width)
}

// fitLeft cuts the beginning of a name, because the end says more.
func fitLeft(text string, width int) string {
	if wide := cells(text); wide > width {
		return ansi.TruncateLeft(text, wide-width+len(cut), cut)
	}
	return text
}
