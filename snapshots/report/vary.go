package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/growing"
	"github.com/memtop/memtop/snapshots/quantity"
)

// Varied is the JSON form of Vary on several GPUs. `memtop rehearse --vary`
// prints it.
type Varied struct {
	Schema  string   `json:"schema"`
	Command []string `json:"command"`
	Vary    *Vary    `json:"vary"` // on the first named GPU
	On      []*Vary  `json:"on"`   // on each of them
}

// Vary is how a program's memory grows with a number in its command. Sizes are bytes.
type Vary struct {
	Name    string    `json:"name"`
	GPU     string    `json:"gpu"`
	Title   string    `json:"-"`                 // of the GPU, as its driver names it
	Runs    []VaryRun `json:"runs"`              // by value
	Largest *int64    `json:"largest_that_fits"` // null if it fits with none
	Laws    []LineLaw `json:"laws"`              // of what grows most first
}

// VaryRun is one run.
type VaryRun struct {
	Value         int64  `json:"value"`
	Fits          bool   `json:"fits"`
	PeakAllocated int64  `json:"peak_allocated_bytes"` // if it does not fit: the peak until it failed, or its need
	PeakReserved  int64  `json:"peak_reserved_bytes"`
	DeviceBytes   int64  `json:"device_bytes"`
	Whole         bool   `json:"whole"`    // it got all the memory that it asked for, so the numbers are its need
	AskedBy       string `json:"asked_by"` // the line of the failed request

	lines []Line
}

// LineLaw is how the memory of a line at the peak grows.
type LineLaw struct {
	Line      string  `json:"line"`
	Law       string  `json:"law"` // constant, linear, square or other
	PerUnit   float64 `json:"bytes_per_unit"`
	PerSquare float64 `json:"bytes_per_square"`
	Bytes     int64   `json:"bytes"` // at the largest value with enough memory
}

// NewVaryRun makes a run from the result of its rehearsal.
func NewVaryRun(value int64, of *Rehearsal, whole bool) VaryRun {
	run := VaryRun{Value: value, Fits: of.Fits, Whole: whole}
	most := of.Most()
	if most == nil {
		return run
	}
	run.PeakAllocated, run.PeakReserved, run.DeviceBytes = most.PeakAllocated, most.PeakReserved, most.Full()
	if most.device != nil {
		run.lines = most.device.LinesAtPeak
	}
	if most.OOM != nil {
		run.AskedBy = most.OOM.AskedBy
	}
	return run
}

// Add adds a run. An earlier run of the same value had unlimited memory: its
// numbers stay, and the new run says whether the value fits.
func (v *Vary) Add(run VaryRun) {
	for i := range v.Runs {
		if v.Runs[i].Value == run.Value {
			v.Runs[i].Fits, v.Runs[i].AskedBy = run.Fits, run.AskedBy
			return
		}
	}
	v.Runs = append(v.Runs, run)
}

// Note notes whether a tried value fits.
func (v *Vary) Note(value int64, fits bool) {
	for i := range v.Runs {
		if v.Runs[i].Value == value {
			v.Runs[i].Fits = fits
		}
	}
}

// Fits reports whether a value was tried and fits.
func (v *Vary) Fits(value int64) bool {
	return slices.ContainsFunc(v.Runs, func(r VaryRun) bool { return r.Value == value && r.Fits })
}

// Guess returns bounds on how many of the values fit in that many bytes by the
// law: at least those whose reserved bytes fit, and at most those whose allocated
// bytes fit. Without a law nothing is known of any.
func (v *Vary) Guess(values []int64, bytes int64) (low, high int) {
	reserved := func(r *VaryRun) int64 { return r.DeviceBytes }
	allocated := func(r *VaryRun) int64 { return r.DeviceBytes - r.PeakReserved + r.PeakAllocated }
	return v.fit(values, bytes, reserved, 0), v.fit(values, bytes, allocated, len(values))
}

// fit returns how many of the values fit in that many bytes by one law, or what to assume without one.
func (v *Vary) fit(values []int64, bytes int64, of func(*VaryRun) int64, without int) int {
	law := growing.Fit(v.whole(of))
	if law.Kind == growing.Other {
		return without
	}
	n, _ := slices.BinarySearchFunc(values, bytes, func(value, bytes int64) int {
		if law.At(value) <= bytes {
			return -1
		}
		return 1
	})
	return n
}

// whole returns the points of the runs that got all the memory they asked for.
func (v *Vary) whole(of func(*VaryRun) int64) (points []growing.Point) {
	for i := range v.Runs {
		if r := &v.Runs[i]; r.Whole {
			points = append(points, growing.Point{Value: r.Value, Bytes: of(r)})
		}
	}
	return points
}

// Conclude works out the laws.
func (v *Vary) Conclude() {
	slices.SortFunc(v.Runs, func(a, b VaryRun) int { return int(a.Value - b.Value) })
	v.Laws = make([]LineLaw, 0)
	var last *VaryRun
	for i := range v.Runs {
		if v.Runs[i].Whole {
			last = &v.Runs[i]
		}
	}
	if last == nil {
		return
	}
	for _, line := range last.lines[:min(len(last.lines), reportedStacks)] {
		law := growing.Fit(v.whole(func(r *VaryRun) int64 { return r.of(line) }))
		v.Laws = append(v.Laws, LineLaw{line.name(), law.Kind.String(), law.PerUnit, law.PerSquare, line.Bytes})
	}
}

func (l *Line) name() string { return fmt.Sprintf("%s:%d %s", l.File, l.Line, l.Function) }

// of returns the memory of a line in this run.
func (r *VaryRun) of(line Line) int64 {
	for _, l := range r.lines {
		if l.File == line.File && l.Line == line.Line && l.Function == line.Function {
			return l.Bytes
		}
	}
	return 0
}

// Text writes the result for people, in lines of at most width cells.
func (v *Vary) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	p.wrap("", v.verdict())
	p.line("")
	p.line("  %12s  %-5s %15s %15s", v.Name, "fits", "peak allocated", "peak reserved")
	for i := range v.Runs {
		r := &v.Runs[i]
		fits := map[bool]string{true: "yes", false: "no"}[r.Fits]
		p.line("  %12d  %-5s %15s %15s  %s", r.Value, fits, quantity.Bytes(r.PeakAllocated), quantity.Bytes(r.PeakReserved), r.AskedBy)
	}
	v.laws(p)
	return p.w.Flush()
}

func (v *Vary) verdict() string {
	if v.Largest == nil {
		return fmt.Sprintf("It fits on an imitated %s with no %s that was tried.", v.Title, v.Name)
	}
	return fmt.Sprintf("The largest %s that fits on an imitated %s is %d, found in %s.", v.Name, v.Title, *v.Largest, quantity.Plural(len(v.Runs), "run"))
}

func (v *Vary) laws(p *page) {
	if len(v.Laws) > 0 {
		p.line("")
		p.line("  How the lines grow that hold most at the peak")
		p.line("  %10s  %-8s %14s  %s", "bytes", "law", "for each", "line")
	}
	for _, l := range v.Laws {
		each := ""
		if l.Law == growing.Linear.String() || l.Law == growing.Square.String() {
			each = quantity.Bytes(int64(l.PerUnit))
		}
		lead := fmt.Sprintf("  %10s  %-8s %14s  ", quantity.Bytes(l.Bytes), l.Law, each)
		p.line("%s%s", lead, fitName(l.Line, p.width-cells(lead)))
	}
}
