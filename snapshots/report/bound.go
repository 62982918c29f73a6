package report

import (
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/grouped"
	"github.com/memtop/memtop/snapshots/quantity"
)

// # What the sizes of a rehearsal are worth
//
// A rehearsal computes no values, so a program reads made-up values from the
// device. An operation that counts on the device, such as nonzero, returns an
// unknown number of rows: the rehearsal assumes none, or with ValuesUpper as many
// as possible. If a value only decides a branch, the sizes are those of the taken
// branch, whatever the bound says.

// The values that the rehearsal returns if a value decides a size.
const (
	ValuesZeros = "zeros"
	ValuesUpper = "upper"
)

// The values of Rehearsal.Bound.
const (
	BoundExact    = "exact"    // every request is the same as on the GPU
	BoundBranches = "branches" // so it is if the program takes the same branches there
	BoundModelled = "modelled" // the workspaces of libraries are estimated
	BoundTiming   = "timing"   // how long work takes on the GPU decides some of them
	BoundLower    = "lower"    // some sizes are at their minimum
	BoundUpper    = "upper"    // they are at their maximum
	BoundOpen     = "open"     // some sizes are neither, or a function is not imitated
)

// The kinds of DependsOnData that matter to sizes.
const (
	readsSize    = "size"    // an operation counts its rows
	readsInteger = "integer" // a whole number
	readsValues  = "values"  // several values, or of an unknown type
)

// DependsOnData is a line that reads a value from the device. A size or a branch
// that depends on it may differ on a GPU.
type DependsOnData struct {
	Line   string `json:"line"`
	What   string `json:"what"` // the text of the line
	Kind   string `json:"kind"` // the kind of value: "size", "integer", "condition", "number" or "values"
	Count  int64  `json:"count"`
	Bytes  int64  `json:"bytes"`         // of the largest read
	AtMost *int64 `json:"at_most_bytes"` // the largest result of the line's operation, null if unknown
	Given  bool   `json:"given"`         // --set gave the value
}

// mayDepend is the beginning of the reason why numbers that may depend on data
// are not exact.
const mayDepend = "sizes or branches may depend on values that are read in "

// Conclude works out the bound, and what was not run, once all devices are added. All ranks have the
// same lines that read values, and the same estimates.
func (r *Rehearsal) Conclude() {
	r.Because = slices.DeleteFunc(r.Because, func(text string) bool { return strings.HasPrefix(text, mayDepend) })
	slices.Sort(r.Because)
	r.Because = slices.Compact(r.Because)
	slices.Sort(r.Timing)
	r.Timing = slices.Compact(r.Timing)
	modelled := len(r.Because) > 0
	r.mergeLines()
	if n := len(r.DependsOnData); n > 0 && !r.agreed() {
		r.Because = append(r.Because, mayDepend+quantity.Plural(n, "line")+" and not computed")
	}
	r.Exact = len(r.Because)+len(r.Timing)+len(r.NotImitated) == 0
	r.Bound, r.BoundBytes, r.NotRun = r.bound(modelled), nil, ""
	if most := r.Most(); most != nil && (r.Ended == "settled" || r.Ended == "steps") {
		r.NotRun = "what follows " + quantity.Plural(most.Steps, "step")
	}
	if r.Exact {
		r.BoundBytes = new(int64)
	}
}

// OtherValues is a second run of the program, in which what nothing computes reads as ones. Bytes are of its fullest device.
type OtherValues struct {
	Same          bool  `json:"same"` // it made the same requests in the same order
	PeakAllocated int64 `json:"peak_allocated_bytes"`
	PeakReserved  int64 `json:"peak_reserved_bytes"`
}

// Undecided reports whether a run with other values may show that no size depends on them: there is no line whose
// value is a size, or is given by the user.
func (r *Rehearsal) Undecided() bool {
	decided := func(d DependsOnData) bool { return d.Kind == readsSize || d.Given }
	return r.Fits && !r.Failed() && len(r.DependsOnData) > 0 && len(r.NotImitated) == 0 && !slices.ContainsFunc(r.DependsOnData, decided)
}

// Compare notes a run with other values.
func (r *Rehearsal) Compare(other *Rehearsal) {
	most := other.Most()
	if most == nil {
		return
	}
	same := r.Ended == other.Ended && len(r.Ranks) == len(other.Ranks)
	for i := range r.Ranks {
		same = same && slices.ContainsFunc(other.Ranks, r.Ranks[i].same)
	}
	r.OtherValues = &OtherValues{same, most.PeakAllocated, most.PeakReserved}
	r.Conclude()
}

// same reports whether a device of a rank was asked for the same in another run.
func (on *RehearsedOn) same(other RehearsedOn) bool {
	if on.Rank != other.Rank || on.Device != other.Device || on.Steps != other.Steps || on.index == nil || other.index == nil {
		return false
	}
	x, y := on.index.Device().Events, other.index.Device().Events
	equal := x.Len() == y.Len() && on.PeakAllocated == other.PeakAllocated && on.PeakReserved == other.PeakReserved
	for i := 0; equal && i < x.Len(); i++ {
		equal = x.At(i).Kind == y.At(i).Kind && x.At(i).Size == y.At(i).Size
	}
	return equal
}

// agreed reports whether a run with other values made the same requests, so that sizes do not depend on them.
func (r *Rehearsal) agreed() bool { return r.OtherValues != nil && r.OtherValues.Same }

// mergeLines removes duplicates of lines that read values.
func (r *Rehearsal) mergeLines() {
	merged := grouped.By[string, DependsOnData]{List: make([]DependsOnData, 0)}
	for _, d := range r.DependsOnData {
		m := merged.Of(d.Line)
		if m.Line == "" {
			*m = d
			continue
		}
		m.Count += d.Count
		if d.AtMost != nil && (m.AtMost == nil || *d.AtMost > *m.AtMost) {
			m.AtMost = d.AtMost
		}
	}
	r.DependsOnData = merged.List
}

// bound is the weakest bound of all parts of the result.
func (r *Rehearsal) bound(modelled bool) string {
	upper := r.Values == ValuesUpper
	sized := func(d DependsOnData) bool { return d.Kind == readsSize && !d.Given }
	unknown := func(d DependsOnData) bool { return (d.Kind == readsInteger || d.Kind == readsValues) && !d.Given }
	some := r.DependsOnData
	if r.agreed() {
		some = nil
	}
	switch {
	case len(r.NotImitated) > 0, upper && slices.ContainsFunc(some, unknown):
		return BoundOpen
	case upper && slices.ContainsFunc(some, sized):
		return BoundUpper
	case slices.ContainsFunc(some, sized), slices.ContainsFunc(some, unknown):
		return BoundLower
	case len(r.Timing) > 0:
		return BoundTiming
	case modelled:
		return BoundModelled
	case len(some) > 0:
		return BoundBranches
	}
	return BoundExact
}

// worth explains each value of Rehearsal.Bound.
var worth = map[string]string{
	BoundExact:    "Exact: these are the requests that PyTorch makes on such a GPU.",
	BoundBranches: "Exact, if the program takes the same branches on such a GPU.",
	BoundModelled: "Modelled: PyTorch's own requests are exact, and libraries' workspaces are estimated.",
	BoundTiming:   "As if all work on the GPU were done at once: how long it takes there decides some of this.",
	BoundLower:    "A lower bound: sizes that depend on data are at their least. --values upper has them at their most.",
	BoundUpper:    "An upper bound: sizes that depend on data are at their most.",
	BoundOpen:     "Neither a lower nor an upper bound: not all sizes that depend on data are known. --set LINE=VALUE says one.",
}
