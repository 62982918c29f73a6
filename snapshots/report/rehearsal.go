package report

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// RehearsalSchema names the version of the JSON form of Rehearsal.
const RehearsalSchema = "memtop.rehearse/1"

// Rehearsal is the result of running a program on an imitated GPU. `memtop
// rehearse` prints it. All sizes are bytes.
type Rehearsal struct {
	Schema        string          `json:"schema"`
	Command       []string        `json:"command"`
	PyTorch       string          `json:"pytorch"`
	CUDA          string          `json:"cuda"`
	Seconds       float64         `json:"seconds"`
	GPU           RehearsedGPU    `json:"gpu"`
	Fits          bool            `json:"fits"`
	Exact         bool            `json:"exact"`
	Bound         string          `json:"bound"`             // how exact the sizes are, see bound.go
	BoundBytes    *int64          `json:"bound_bytes"`       // the largest error: 0 if exact, null if unknown
	Because       []string        `json:"because"`           // why the sizes are not exact
	Timing        []string        `json:"depends_on_timing"` // what of them a GPU's speed decides
	Ranks         []RehearsedOn   `json:"ranks"`
	Hosts         []RehearsedHost `json:"hosts"`
	Unrounded     *Unrounded      `json:"pinned_unrounded"` // a second run without the rounding of pinned memory, null if there was none
	FitsOn        []string        `json:"fits_on"`          // GPUs of the catalogue with that much memory
	DependsOnData []DependsOnData `json:"depends_on_data"`  // lines that read values that were not computed
	NotImitated   []NotImitated   `json:"not_imitated"`
	Handling      string          `json:"handling"` // a line whose lack of memory was being handled when more was asked for in vain, "" for none
	Ended         string          `json:"ended"`    // "settled", "steps", "waits", "exit", Crashed, or "" if the program broke off
	NotRun        string          `json:"not_run"`  // what of the program was left out, "" for nothing
	ExitCode      int             `json:"exit_code"`
	Error         string          `json:"error"`        // the exception that ended the program, with its line; "" for none
	Values        string          `json:"values"`       // what the program reads if a value decides a size: "zeros" or "upper"
	OtherValues   *OtherValues    `json:"other_values"` // a second run of the program, null if there was none
	Fit           *Fit            `json:"fit"`          // what makes it fit, null if that was not asked for

	Unchanged string `json:"-"` // why a change could not be rehearsed
}

// Crashed is the ending of a program that ran to its end, after which Python crashed,
// as it can when a thread of PyTorch still runs.
const Crashed = "crash"

// RehearsedGPU is the imitated GPU of the program.
type RehearsedGPU struct {
	Name       string `json:"name"`
	Title      string `json:"title"`
	Total      int64  `json:"total_bytes"`
	Capability string `json:"compute_capability"`
	Processors int    `json:"processors"`
	Context    int64  `json:"context_bytes"`
}

// RehearsedOn is one device of one rank.
type RehearsedOn struct {
	Rank             int              `json:"rank"`
	Device           int              `json:"device"`
	Steps            int              `json:"steps"`
	PeakAllocated    int64            `json:"peak_allocated_bytes"`
	PeakReserved     int64            `json:"peak_reserved_bytes"`
	DeviceBytes      int64            `json:"device_bytes"`   // the most bytes taken of the device, with the context
	Together         int64            `json:"together_bytes"` // the same of all processes of the command, 0 if not known
	Processes        int              `json:"processes"`      // that then were on the device
	CategoriesAtPeak Categories       `json:"categories_at_peak"`
	TopLinesAtPeak   []Holding        `json:"top_lines_at_peak"`
	HoldersAtPeak    []analysis.Held  `json:"holders"` // the largest ones
	Growth           []Grows          `json:"growth"`
	Findings         []Finding        `json:"findings"`
	Graphs           *analysis.Graphs `json:"graphs,omitempty"` // if there are CUDA graphs
	Snapshot         string           `json:"snapshot"`         // "" if not asked for
	OOM              *Shortage        `json:"oom"`              // the last failed request, if the program does not fit
	Tried            []Remedy         `json:"tried"`            // rehearsed changes, including those in OOM.WouldFit
	Caught           *Caught          `json:"caught"`           // failed requests that the program caught, if it fits all the same

	device *Device
	index  *analysis.Index
}

// Full returns the most bytes that were taken of the device by all processes of the command.
func (on *RehearsedOn) Full() int64 { return max(on.DeviceBytes, on.Together) }

// Caught is how often a program caught its lack of memory, and what it asked for last.
type Caught struct {
	Times int   `json:"times"`
	Asked int64 `json:"asked_bytes"`
}

// Holding is the memory of a line.
type Holding struct {
	Line  string `json:"line"` // "file:line function"
	Bytes int64  `json:"bytes"`
	Count int    `json:"count"`
}

// holdings returns what the first lines hold.
func holdings(lines []Line) []Holding {
	all := make([]Holding, 0)
	for _, l := range lines[:min(len(lines), reportedStacks)] {
		all = append(all, Holding{l.name(), l.Bytes, l.Count})
	}
	return all
}

// Shortage is a request that failed for lack of memory.
type Shortage struct {
	Asked    int64      `json:"asked_bytes"`
	AskedBy  string     `json:"asked_by"`
	Short    *int64     `json:"short_bytes"` // null where it is not known
	Cached   int64      `json:"cached_bytes"`
	Holders  []Holding  `json:"holders"`
	Needs    *int64     `json:"needs_bytes"` // what the program takes of a large enough device, null if unknown
	WouldFit []WouldFit `json:"would_fit"`
}

// WouldFit is a change with which the request would have succeeded.
type WouldFit struct {
	Change string `json:"change"`
	Bytes  int64  `json:"bytes"` // that the change saves
	Proof  string `json:"proof"` // rehearsed, replayed, counted or estimated
}

// NotImitated is a function that answered "not supported".
type NotImitated struct {
	Function string `json:"function"`
	Caller   string `json:"caller"`
	Count    uint64 `json:"count"`
}

// Add adds a device of a rank, with a report on its memory at the end or at the
// moment when it ran out. Without a report the holders of the memory are unknown.
func (r *Rehearsal) Add(on RehearsedOn, of *Report, failed bool) {
	on.TopLinesAtPeak, on.HoldersAtPeak, on.Growth = make([]Holding, 0), make([]analysis.Held, 0), make([]Grows, 0)
	on.Findings, on.Tried = make([]Finding, 0), make([]Remedy, 0)
	if of == nil {
		of = new(Report)
	}
	for i := range of.Devices {
		d := &of.Devices[i]
		if d.Device != on.Device {
			continue
		}
		on.device, on.index = d, of.indexes[i]
		on.CategoriesAtPeak = d.CategoriesAtPeak
		on.TopLinesAtPeak = holdings(d.LinesAtPeak)
		held := on.index.HeldAt(d.PeakEvent)
		on.HoldersAtPeak, on.Growth, on.Findings = held[:min(len(held), reportedStacks)], on.growth(r.GPU.Total), d.Findings
		on.Graphs = d.Graphs
		if failed && d.failure != nil {
			on.OOM = newShortage(on.index, d.failure)
		}
	}
	r.Fits = r.Fits && !failed
	r.Ranks = append(r.Ranks, on)
}

func newShortage(x *analysis.Index, f *analysis.Failure) *Shortage {
	s := &Shortage{Asked: f.Requested, AskedBy: x.StackName(f.Stack), Short: orNull(f.Short), Cached: f.Free, Holders: make([]Holding, 0), WouldFit: make([]WouldFit, 0)}
	for _, row := range f.Lines.Rows {
		if row.Self > 0 && len(s.Holders) < reportedStacks {
			s.Holders = append(s.Holders, Holding{row.Name, row.Self, row.SelfCount})
		}
	}
	for _, c := range f.WouldFit {
		s.WouldFit = append(s.WouldFit, WouldFit{c.Text, c.Saving, string(c.Basis)})
	}
	return s
}

// Join adds the ranks of another rehearsal of the same command. A nil one has none.
func (r *Rehearsal) Join(other *Rehearsal) *Rehearsal {
	if r == nil {
		return other
	}
	if !r.Failed() && other.ExitCode != 0 {
		r.Ended = other.Ended
	}
	r.Seconds += other.Seconds
	r.Fits = r.Fits && other.Fits
	r.Ranks, r.Hosts = append(r.Ranks, other.Ranks...), append(r.Hosts, other.Hosts...)
	r.NotImitated = append(r.NotImitated, other.NotImitated...)
	r.DependsOnData = append(r.DependsOnData, other.DependsOnData...)
	r.Because = append(r.Because, other.Because...)
	r.Timing = append(r.Timing, other.Timing...)
	r.ExitCode, r.Error = max(r.ExitCode, other.ExitCode), cmp.Or(r.Error, other.Error)
	r.FitsOn = slices.DeleteFunc(r.FitsOn, func(name string) bool { return !slices.Contains(other.FitsOn, name) })
	r.Conclude()
	return r
}

// Peak returns the largest memory that was asked of a device, in bytes.
func (r *Report) Peak() (most int64) {
	for i := range r.Devices {
		most = max(most, r.Devices[i].PeakRequested)
	}
	return most
}

// Finds reports whether the memory of a device has a finding of a kind.
func (on *RehearsedOn) Finds(kind string) bool {
	return slices.ContainsFunc(on.Findings, func(f Finding) bool { return f.Kind == kind })
}

// Expandable reports whether the allocator's segments are expandable.
func (on *RehearsedOn) Expandable() bool {
	return on.index != nil && trace.NewGeometry(on.index.Trace().Settings).Expandable
}

// Most returns the fullest device; nil if none was used.
func (r *Rehearsal) Most() *RehearsedOn {
	var most *RehearsedOn
	for i := range r.Ranks {
		if on := &r.Ranks[i]; most == nil || on.OOM != nil && most.OOM == nil || on.OOM == nil == (most.OOM == nil) && on.Full() > most.Full() {
			most = on
		}
	}
	return most
}
