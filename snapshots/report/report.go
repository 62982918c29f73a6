package report

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Schema names the version of the report's JSON form. It changes when a key
// changes its meaning or is removed. New keys do not change it.
const Schema = "memtop.report/1"

// Report is a trace in numbers. `memtop report --json` prints it. All sizes are
// bytes.
type Report struct {
	Schema string `json:"schema"`
	*Place
	Source      Source    `json:"source"`
	Annotations int       `json:"annotations"`
	Devices     []Device  `json:"devices"`
	Pinned      *Pinned   `json:"pinned_host,omitempty"` // if the file has some
	Compared    *Compared `json:"compared"`              // null without a device, see MarshalJSON

	notices []string
	indexes []*analysis.Index
}

// Source describes the file of the trace.
type Source struct {
	Path           string `json:"path"`
	Kind           string `json:"kind"`
	Container      string `json:"container"`
	PickleProtocol *int   `json:"pickle_protocol"` // null when there is no pickle
	Bytes          int64  `json:"bytes"`
	Writer         string `json:"writer"`
	Truncated      bool   `json:"truncated,omitempty"` // the file ends early
}

// Device is one device in numbers.
type Device struct {
	Device int `json:"device"`
	analysis.Summary
	PeakStacks            int                  `json:"peak_stacks"`
	PeakLargestStackBytes int64                `json:"peak_largest_stack_bytes"`
	DistinctStacks        int                  `json:"distinct_stacks"`
	OOM                   []OOM                `json:"oom"`
	Pools                 []Pool               `json:"pools"`
	Graphs                *analysis.Graphs     `json:"graphs,omitempty"` // if there are CUDA graphs
	CategoriesAtPeak      Categories           `json:"categories_at_peak"`
	RulesAtPeak           []analysis.RuleBytes `json:"category_rules_at_peak"`
	LabelsAtPeak          []analysis.Label     `json:"labels_at_peak"` // of the program's own
	GatheredAtPeak        []analysis.Gathered  `json:"gathered_at_peak"`
	TopStacksAtPeak       []Stack              `json:"top_stacks_at_peak"`
	LinesAtPeak           []Line               `json:"lines_at_peak"`
	Steps                 *Steps               `json:"steps"`          // null where none are known
	Findings              []Finding            `json:"findings"`       // the most severe first
	Host                  *Host                `json:"host,omitempty"` // of a program that said what it had of the machine's memory
	Card                  *Card                `json:"card,omitempty"` // of one that asked the driver who has the device's
	Measures              Measures             `json:"measures"`

	beside  analysis.Beside
	found   []analysis.Finding
	failure *analysis.Failure // the last request that ran out of memory, nil for none
}

// OOM is one out-of-memory event.
type OOM struct {
	analysis.OOM
	// Requester has the frames of the request, innermost first. It is empty for all but
	// the first 64 events and the last, because all may share a deep stack.
	Requester []string `json:"requester"`
	// ShortBytes is how many more free bytes the driver needed, null if its free
	// bytes are unknown.
	ShortBytes *int64 `json:"short_bytes"`
	// WouldFit lists changes, each of which alone would have made the request fit,
	// the smallest change first. It is empty for all events but the last, which ended
	// the job.
	WouldFit []analysis.Change `json:"would_fit"`
}

// Stack is the memory of one stack.
type Stack struct {
	Bytes  int64    `json:"bytes"`
	Count  int      `json:"count"`
	Frames []string `json:"frames"`
}

// Categories is requested memory by category. Its JSON form is an object
// with a key for each, and "guessed": true if any of them is a guess.
type Categories struct {
	Bytes   [trace.CategoryCount]int64
	Guessed bool
}

// MarshalJSON keeps the categories in their order.
func (c Categories) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, category := range trace.Categories {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(category.String()) + ":" + strconv.FormatInt(c.Bytes[category], 10))
	}
	if c.Guessed {
		b.WriteString(`,"guessed":true`)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Categories) UnmarshalJSON(text []byte) error {
	var values map[string]any
	err := json.Unmarshal(text, &values)
	c.Guessed, _ = values["guessed"].(bool)
	for category := range c.Bytes {
		n, _ := values[trace.Category(category).String()].(float64)
		c.Bytes[category] = int64(n)
	}
	return err
}

// reportedStacks is how many stacks a report lists.
const reportedStacks = 10

// New reads the whole trace and reports on it.
func New(t *trace.Trace) *Report {
	indexes := make([]*analysis.Index, len(t.Devices))
	for i := range t.Devices {
		indexes[i] = analysis.Prepared(t, &t.Devices[i])
	}
	return Of(t, indexes)
}

// Of is New for a caller that already has the indexes of all of
// the trace's devices.
func Of(t *trace.Trace, indexes []*analysis.Index) *Report {
	r := &Report{
		Schema: Schema, Source: sourceReport(&t.Info), Annotations: len(t.Annotations),
		Devices: make([]Device, len(indexes)), notices: t.Notices, indexes: indexes,
		Pinned: newPinned(t),
	}
	fullest, uneven := analysis.Uneven(indexes)
	for i, x := range indexes {
		d := newDevice(x)
		d.Measures = measuresOf(x, i, Limits{}, func(s trace.StackID) []string { return telling(x, s) })
		if x == fullest {
			d.beside.Uneven = uneven
		}
		d.tell(x)
		r.Devices[i] = d
	}
	return r
}

func sourceReport(i *trace.Info) Source {
	s := Source{Path: i.Path, Kind: i.Kind, Container: i.Container, Bytes: i.Bytes, Writer: i.Writer, Truncated: i.Truncated}
	if i.PickleProtocol >= 0 {
		s.PickleProtocol = &i.PickleProtocol
	}
	return s
}

// Facts are what is known of the file besides its name.
func (s *Source) Facts() []string {
	facts := []string{s.Container, s.Writer}
	if s.Bytes > 0 {
		facts = append([]string{quantity.Bytes(s.Bytes)}, facts...)
	}
	return slices.DeleteFunc(facts, func(fact string) bool { return fact == "" })
}

// Numbers are a row of a device's levels, as texts.
type Numbers struct{ Name, Start, Peak, End string }

// Numbers returns the levels of the device at the start, at the peak and at the end.
func (d *Device) Numbers() []Numbers {
	return []Numbers{
		{"requested", quantity.Bytes(d.InitialRequested), quantity.Bytes(d.PeakRequested), quantity.Bytes(d.FinalRequested)},
		{"reserved", quantity.Bytes(d.InitialReserved), quantity.Bytes(d.PeakReserved), quantity.Bytes(d.Reserved)},
		{"rounding", "", "", quantity.Bytes(d.Active - d.Requested)},
		{"cached free", "", "", quantity.Bytes(d.Free)},
	}
}

func newDevice(x *analysis.Index) Device {
	s := x.Summary()
	holders, rules := x.AtPeak()
	d := Device{
		Device: x.Device().ID, Summary: s,
		DistinctStacks: s.DistinctStacks,
		OOM:            make([]OOM, 0), Pools: poolReports(x),
		CategoriesAtPeak: Categories{analysis.CategoriesOf(rules), x.GuessedAt(s.PeakEvent)}, RulesAtPeak: rules, LabelsAtPeak: x.LabelsAt(s.PeakEvent), GatheredAtPeak: x.GatheredAt(s.PeakEvent), Steps: stepsOf(x), Host: newHost(x), Card: newCard(x),
	}
	ooms := x.OOMEvents()
	for k := range ooms {
		d.OOM = append(d.OOM, newOOM(x, &ooms[k], k < requestedOOMs || k == len(ooms)-1))
	}
	if last := len(ooms) - 1; last >= 0 {
		d.failure = analysis.FailureAt(x, d.OOM[last].Event)
		d.OOM[last].WouldFit = slices.Concat([]analysis.Change{}, d.failure.WouldFit)
	}
	d.addPeak(x, holders)
	return d
}

// requestedOOMs is how many out-of-memory events have the frames of their request.
const requestedOOMs = 64

func newOOM(x *analysis.Index, o *analysis.OOM, frames bool) OOM {
	failed := OOM{*o, make([]string, 0), orNull(x.Short(o)), []analysis.Change{}}
	if frames {
		failed.Requester = x.Frames(o.Stack)
	}
	return failed
}

// Replay finds settings of the allocator under which each device's last failed
// request would have succeeded, or which its findings ask about. It stops at an
// error.
func (r *Report) Replay(ctx context.Context, ask whatif.Ask) error {
	for i := range r.Devices {
		d, x := &r.Devices[i], r.indexes[i]
		event := analysis.NoEvent
		if d.failure != nil {
			event = d.failure.Event
		}
		q, needed := x.Ask(event)
		if !needed {
			continue
		}
		a, err := ask(ctx, q)
		if err != nil {
			return err
		}
		if d.failure != nil {
			d.failure.AddSettings(a.Changes())
			d.OOM[len(d.OOM)-1].WouldFit = d.failure.WouldFit
		}
		d.beside.Replay = a
		d.tell(x)
	}
	return nil
}

// tell looks for the device's findings, with all that is known.
func (d *Device) tell(x *analysis.Index) {
	d.found, d.Graphs = x.FindingsWith(d.beside), x.Graphs(d.beside.Replay)
	d.Findings = findings(x, d.found)
}

// addPeak counts the stacks that hold memory at the peak. The counts cover
// allocations within the trace. The list has every stack that is known to have
// allocated its memory, also before recording.
func (d *Device) addPeak(x *analysis.Index, holders []analysis.Holder) {
	for _, h := range holders {
		if h.Count > h.HeldCount {
			d.PeakStacks++
			d.PeakLargestStackBytes = max(d.PeakLargestStackBytes, h.Bytes-h.Held)
		}
	}
	d.TopStacksAtPeak = make([]Stack, 0, reportedStacks)
	d.LinesAtPeak = linesOf(x, holders)
	known := analysis.KnownHolders(holders)
	for _, h := range known[:min(len(known), reportedStacks)] {
		d.TopStacksAtPeak = append(d.TopStacksAtPeak, Stack{h.Bytes, h.Count, x.Frames(h.Stack)})
	}
}
