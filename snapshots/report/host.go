package report

import (
	"cmp"
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/host"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Host is what a program and its workers have of the machine's memory at the end.
// All sizes are bytes.
type Host struct {
	TimeUS         int64   `json:"time_us"`        // of the look
	Whose          string  `json:"whose"`          // memory is counted
	Bytes          int64   `json:"bytes"`          // as the kernel counts them
	ResidentBytes  int64   `json:"resident_bytes"` // of them, all but SharedBytes
	SharedBytes    int64   `json:"shared_bytes"`
	LimitBytes     *int64  `json:"limit_bytes"`           // that is nearest; null, as all of it, if none is known
	Limit          *string `json:"limit"`                 // "cgroup", "machine" or "ulimit"
	LimitUsedBytes *int64  `json:"limit_used_bytes"`      // by all who share it
	GrowthPerStep  *int64  `json:"growth_bytes_per_step"` // of all that the program's end gives back; null until enough steps are known
	StepsToLimit   *int64  `json:"steps_to_limit"`        // at that rate, null if it does not grow

	Ledger []host.Row `json:"ledger"` // sums to Bytes
	Leaks  []HostLeak `json:"leaks"`  // the rows that grow evenly, the fastest first
	// What the tensors on the CPU are, if the program computes on a device; the largest first.
	Tensors []trace.Place `json:"tensors,omitempty"`
	CostNS  int64         `json:"cost_ns"` // of reading all this, since the program began
	limit   trace.Limit
}

// HostLeak is a row that grows from step to step.
type HostLeak struct {
	Site          string `json:"site"` // the container that holds it, with its line, else the row's name
	Name          string `json:"name"` // of the row
	Bytes         int64  `json:"bytes"`
	GrowthPerStep int64  `json:"growth_bytes_per_step"`
	InAll         int64  `json:"growth_in_all_bytes_per_step"` // with holes between blocks and the like
	StepsObserved int    `json:"steps_observed"`
	Reason        string `json:"reason"`
}

// newHost returns nil if the program does not say what it has.
func newHost(x *analysis.Index) *Host {
	ledger, gauge := x.HostLedger(x.End())
	if gauge == nil {
		return nil
	}
	h := &Host{
		TimeUS: gauge.Time, Whose: ledger.Whose, Bytes: ledger.Bytes, ResidentBytes: ledger.Bytes - ledger.Shared, SharedBytes: ledger.Shared,
		Ledger: ledger.Rows, Leaks: hostLeaks(x), CostNS: gauge.Host.CostNS, Tensors: gauge.Host.Places,
	}
	var limited bool
	if h.limit, limited = gauge.Nearest(); limited {
		h.LimitBytes, h.Limit, h.LimitUsedBytes = &h.limit.Bytes, &h.limit.By, &h.limit.Used
	}
	if rate, steps := x.HostPerStep(); steps > 0 {
		h.GrowthPerStep = &rate
		if limited && rate > 0 {
			left := h.limit.Left() / rate
			h.StepsToLimit = &left
		}
	}
	return h
}

func hostLeaks(x *analysis.Index) []HostLeak {
	leaks := make([]HostLeak, 0)
	for _, g := range x.HostGrowth() {
		leaks = append(leaks, HostLeak{cmp.Or(g.Keeper, g.Name), g.Name, g.Bytes, g.GrowthPerStep, g.InAll, g.Steps, g.Reason})
	}
	return leaks
}

func (h *Host) text(p *page) {
	if h == nil {
		return
	}
	p.line("")
	p.line("  What %s has of the machine's memory, %s", h.Whose, quantity.Bytes(h.Bytes))
	ledgerLines(p, h.Ledger, h.Bytes)
	for i, place := range h.Tensors {
		if i == 0 {
			p.line("  Tensors on the CPU, pinned and shared ones too, by what keeps them:")
		}
		p.line("  %26s%12s  %s", "×"+quantity.Count(place.Entries), quantity.Bytes(place.Bytes), host.PlaceText(place))
	}
	if h.Limit != nil {
		p.line("  %-26s%12s of the %s of %s", "left", quantity.Bytes(h.limit.Left()), quantity.Bytes(h.limit.Bytes), h.limit.Whose())
	}
	p.line("  Reading this has taken %v of the program's time.", time.Duration(h.CostNS).Round(time.Millisecond))
}
