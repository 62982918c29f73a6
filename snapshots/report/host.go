package report

import (
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/host"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Host is what a program and its workers have of the machine's memory at the end.
// All sizes are bytes.
type Host struct {
	TimeUS  int64        `json:"time_us"` // of the look
	Whose   string       `json:"whose"`   // memory is counted
	Bytes   int64        `json:"bytes"`   // as the kernel counts them
	Rows    []host.Row   `json:"rows"`    // sum to Bytes
	Limit   *HostLimit   `json:"limit"`   // that is nearest, null if none is known
	Growing []HostGrowth `json:"growing"` // the fastest first
	// What the tensors on the CPU are, if the program computes on a device; the largest first.
	Tensors []trace.Place `json:"tensors,omitempty"`
	CostNS  int64         `json:"cost_ns"` // of reading all this, since the program began
}

// HostLimit is what ends the program when it is used up.
type HostLimit struct {
	Whose string `json:"whose"`
	Bytes int64  `json:"bytes"`
	Used  int64  `json:"used_bytes"`
}

// HostGrowth is a row that grows from step to step.
type HostGrowth struct {
	Name          string `json:"name"`
	Keeper        string `json:"keeper,omitempty"` // the container that holds it, with its line
	GrowthPerStep int64  `json:"growth_bytes_per_step"`
	InAll         int64  `json:"growth_in_all_bytes_per_step"` // with holes between blocks and the like
	StepsObserved int    `json:"steps_observed"`
	StepsLeft     *int64 `json:"steps_left"` // until the limit is reached, null if none is known
}

// newHost returns nil if the program does not say what it has.
func newHost(x *analysis.Index) *Host {
	ledger, gauge := x.HostLedger(x.End())
	if gauge == nil {
		return nil
	}
	h := &Host{
		TimeUS: gauge.Time, Whose: ledger.Whose, Bytes: ledger.Bytes, Rows: ledger.Rows, Growing: make([]HostGrowth, 0),
		CostNS: gauge.Host.CostNS, Tensors: gauge.Host.Places,
	}
	if l, known := gauge.Nearest(); known {
		h.Limit = &HostLimit{l.Whose, l.Bytes, l.Used}
	}
	for _, g := range x.HostGrowth() {
		row := HostGrowth{Name: g.Name, Keeper: g.Keeper, GrowthPerStep: g.GrowthPerStep, InAll: g.InAll, StepsObserved: g.Steps}
		if g.StepsLeft >= 0 {
			row.StepsLeft = &g.StepsLeft
		}
		h.Growing = append(h.Growing, row)
	}
	return h
}

func (h *Host) text(p *page) {
	if h == nil {
		return
	}
	p.line("")
	p.line("  What %s has of the machine's memory, %s", h.Whose, quantity.Bytes(h.Bytes))
	ledgerLines(p, h.Rows, h.Bytes)
	for i, place := range h.Tensors {
		if i == 0 {
			p.line("  Tensors on the CPU, pinned and shared ones too, by what keeps them:")
		}
		p.line("  %26s%12s  %s", "×"+quantity.Count(place.Entries), quantity.Bytes(place.Bytes), host.PlaceText(place))
	}
	if l := h.Limit; l != nil {
		p.line("  %-26s%12s of the %s of %s", "left", quantity.Bytes(max(0, l.Bytes-l.Used)), quantity.Bytes(l.Bytes), l.Whose)
	}
	p.line("  Reading this has taken %v of the program's time.", time.Duration(h.CostNS).Round(time.Millisecond))
}
