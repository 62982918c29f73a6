package export

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// Perfetto
//
// Chrome's trace events as JSON, which ui.perfetto.dev and chrome://tracing read:
// a process for every device, its levels as counters, the program's annotations
// as slices, failed requests as instants. Times are in microseconds from the
// earliest time, whose value since the epoch is in otherData. If a device's
// events have no times, each event takes one microsecond.
//
// A viewer holds the whole file in memory and draws no more points than it has
// pixels. So levels are thinned out: each run of events keeps its lowest and its
// highest level, and thus every spike.

// Limits of the output, for all devices together.
const (
	counterRuns  = 40_000 // runs of events
	categoryRuns = 4_000
	sliceLimit   = 20_000 // the longest
	instantLimit = 5_000
)

func writePerfetto(w io.Writer, t *trace.Trace, o Options) error {
	indexes := o.indexes(t)
	p := &perfetto{w: bufio.NewWriterSize(w, 1<<16), base: earliest(t, indexes), devices: max(len(indexes), 1)}
	p.text(`{"displayTimeUnit":"ms","otherData":`)
	p.value(map[string]any{"source": sourceName(t), "writer": label(t.Info.Writer), "start_us": p.base, "exporter": "memtop"})
	p.text(",\n\"traceEvents\":[")
	for _, x := range indexes {
		p.device(x)
	}
	p.text("\n]}\n")
	return p.w.Flush() // the writer keeps the first error of all writes
}

// perfetto writes events, with commas between.
type perfetto struct {
	w       *bufio.Writer
	base    int64 // time that counts as 0, microseconds since the epoch
	devices int
	between string // what stands before the next event, "" for the first

	index *analysis.Index // of the device being written
	timed bool
}

// traceEvent is an event as viewers read it. Times are in microseconds.
type traceEvent struct {
	Phase    string `json:"ph"`
	Process  int    `json:"pid"`
	Start    int64  `json:"ts"`
	Name     string `json:"name"`
	Thread   int    `json:"tid,omitempty"`
	Duration *int64 `json:"dur,omitempty"`
	Scope    string `json:"s,omitempty"`
	Args     any    `json:"args,omitempty"`
}

// earliest returns the earliest time in the trace.
func earliest(t *trace.Trace, indexes []*analysis.Index) int64 {
	var first int64
	consider := func(time int64) {
		if time > 0 && (first == 0 || time < first) {
			first = time
		}
	}
	for _, x := range indexes {
		if x.Timed() {
			consider(x.Device().Events.At(0).Time)
		}
	}
	for i := range t.Annotations {
		consider(t.Annotations[i].Time)
	}
	return first
}

func (p *perfetto) device(x *analysis.Index) {
	p.index, p.timed = x, x.Timed()
	p.write(traceEvent{Phase: "M", Name: "process_name", Args: map[string]any{"name": deviceName(x)}})
	if !x.History() {
		p.instant(noHistory, x.End(), map[string]any{})
	}
	p.levels()
	p.categories()
	p.marks()
	p.ooms()
}

// when returns the time of an event; for −1, that of the first event.
func (p *perfetto) when(event int) int64 {
	event = max(event, 0)
	if !p.timed {
		return int64(event)
	}
	return timeAt(p.index, event) - p.base
}

// timeAt returns the time of an event, or of the last earlier event with a time.
func timeAt(x *analysis.Index, event int) int64 {
	for ; event > 0 && x.Device().Events.At(event).Absent&trace.NoTime != 0; event-- {
	}
	return x.Device().Events.At(event).Time
}

// write writes an event of the device.
func (p *perfetto) write(e traceEvent) {
	e.Process = p.index.Device().ID
	p.text(p.between + "\n")
	p.between = ","
	p.value(e)
}

func (p *perfetto) text(s string) { _, _ = p.w.WriteString(s) }

func (p *perfetto) value(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic("export: " + err.Error()) // events of numbers and strings always have a JSON form
	}
	_, _ = p.w.Write(text)
}
