package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/quantity"
)

// RehearsedHost is what a process that used a device has of the machine's memory.
// All sizes are bytes.
type RehearsedHost struct {
	Rank       int       `json:"rank"`
	Resident   int64     `json:"resident_peak_bytes"` // as the kernel counts it; of pinned memory what was written
	Pinned     int64     `json:"pinned_peak_bytes"`   // that PyTorch's pool had, in use or not
	PinnedUsed int64     `json:"pinned_in_use_peak_bytes"`
	Rounding   int64     `json:"pinned_rounding_bytes"` // of what was in use then, that no tensor had asked for
	Lines      []Holding `json:"pinned_lines_at_peak"`

	pinned *Pinned
}

// Unrounded is the pinned memory of all processes with a setting that ends its rounding, in bytes.
type Unrounded struct {
	Setting string `json:"setting"`
	Pinned  int64  `json:"pinned_peak_bytes"`
}

// leastRounding is from how many bytes on rounding is worth a word.
const leastRounding = 64 << 20

// pinnedLines is how many lines are shown that have pinned memory.
const pinnedLines = 3

// AddHost adds what a process has of the machine's memory, with a report on its memory, nil if there is none.
func (r *Rehearsal) AddHost(h RehearsedHost, of *Report) {
	h.Lines = make([]Holding, 0)
	if of != nil && of.Pinned != nil {
		h.pinned, h.Lines = of.Pinned, holdings(of.Pinned.LinesAtPeak)
	}
	r.Hosts = append(r.Hosts, h)
}

// pinned returns what all processes have pinned at most, and what of it is rounding. Each has its own peak.
func (r *Rehearsal) pinned() (all RehearsedHost) {
	for _, h := range r.Hosts {
		all.Pinned, all.PinnedUsed, all.Rounding = all.Pinned+h.Pinned, all.PinnedUsed+h.PinnedUsed, all.Rounding+h.Rounding
	}
	return all
}

// RoundsPinned reports whether a tenth of the pinned memory, and not little, is rounding.
func (r *Rehearsal) RoundsPinned() bool {
	all := r.pinned()
	return all.Rounding >= leastRounding && all.Rounding >= all.PinnedUsed/10
}

// Unround adds what the program pins with a setting, as it did in another run, if that is less.
func (r *Rehearsal) Unround(setting string, its *Rehearsal) {
	if with := its.pinned().Pinned; with < r.pinned().Pinned {
		r.Unrounded = &Unrounded{Setting: setting, Pinned: with}
	}
}

// host writes what the processes have pinned of the machine's memory, if they have pinned some.
func (r *Rehearsal) host(p *page) {
	all := r.pinned()
	if all.Pinned == 0 {
		return
	}
	fullest := slices.MaxFunc(r.Hosts, func(a, b RehearsedHost) int { return cmp.Compare(a.Pinned, b.Pinned) })
	what := "of this machine's memory at most"
	if len(r.Hosts) > 1 {
		what = fmt.Sprintf("of this machine's memory; rank %d: %s", fullest.Rank, quantity.Bytes(fullest.Pinned))
	}
	p.line("")
	p.line("  %-16s%12s  %s", "pinned", quantity.Bytes(all.Pinned), what)
	if fullest.pinned != nil {
		rows := fullest.pinned.analysis.Lines
		p.rows(rows[:min(len(rows), pinnedLines)], fullest.pinned.PeakInUseBytes)
	}
	if !r.RoundsPinned() {
		return
	}
	text := fmt.Sprintf("Pinned memory is rounded: %s for %s, because PyTorch rounds each request up to a power of two.", quantity.Bytes(all.PinnedUsed), quantity.Bytes(all.PinnedUsed-all.Rounding))
	if u := r.Unrounded; u != nil {
		text += fmt.Sprintf(" With %s there are %s at most, rehearsed.", u.Setting, quantity.Bytes(u.Pinned))
	}
	p.wrap("  ", text)
}
