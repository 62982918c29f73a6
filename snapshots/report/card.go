package report

import (
	"fmt"
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/card"
	"github.com/memtop/memtop/snapshots/analysis/ledger"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Card is what is used of a device's memory at the end, by whom. All sizes are bytes.
type Card struct {
	TimeUS      int64           `json:"time_us"` // of the look
	Bytes       int64           `json:"bytes"`   // as the driver counts them
	TotalBytes  *int64          `json:"total_bytes"`
	Unified     bool            `json:"unified"`      // they are the machine's: the device has no memory of its own
	Watched     bool            `json:"watched"`      // which libraries call the driver is seen
	Ledger      []card.Row      `json:"ledger"`       // sums to Bytes
	AsleepBytes int64           `json:"asleep_bytes"` // the allocator reserved them, and the driver has them back
	Asleep      []card.Row      `json:"asleep"`       // whose bytes those are, among them rows of which nothing is awake
	Cache       *trace.CacheUse `json:"cache"`        // of keys and values, null for programs that are no server
	ShareMost   *float64        `json:"share_most"`   // that vLLM may be told to use, null for other programs
	LostCalls   int64           `json:"lost_calls"`   // that were not seen
	CostNS      int64           `json:"cost_ns"`      // of reading all this, since the program began

	whole card.Ledger
}

// newCard returns nil if the driver was not asked.
func newCard(x *analysis.Index) *Card {
	if x.GaugeAt(x.End()) == nil {
		return nil // without a map, which snapshots would pay for
	}
	l, gauge := x.CardLedger(x.End(), x.SegmentsAt(x.End()))
	if gauge == nil {
		return nil
	}
	c := &Card{TimeUS: gauge.Time, Bytes: l.Bytes, Unified: l.Unified, Ledger: l.Rows, AsleepBytes: l.Asleep, Asleep: append([]card.Row{}, l.Slept...), Cache: l.Cache, TotalBytes: orNull(l.Total), whole: l}
	if share, _, known := l.Share(); known {
		most := float64(share) / 100
		c.ShareMost = &most
	}
	if gauge.Card != nil {
		c.Watched, c.LostCalls, c.CostNS = gauge.Card.Watched, gauge.Card.Lost, gauge.Card.CostNS
	}
	return c
}

func (c *Card) text(p *page) {
	if c == nil {
		return
	}
	p.line("")
	if c.Unified {
		p.line("  Who has the machine's memory, %s: the device has none of its own", quantity.Bytes(c.Bytes))
	} else {
		p.line("  Who has the device's memory, %s", quantity.Bytes(c.Bytes))
	}
	ledgerLines(p, c.Ledger, c.Bytes)
	for _, row := range c.Asleep {
		p.line("  %-26s%12s asleep: the driver has it back", row.Name, quantity.Bytes(row.Bytes))
	}
	if c.TotalBytes != nil {
		p.line("  %-26s%12s of %s", "left", quantity.Bytes(max(0, *c.TotalBytes-c.Bytes)), quantity.Bytes(*c.TotalBytes))
	}
	if text := c.whole.InUse(); text != "" {
		p.line("  Cache of keys and values: %s, %d of %d %s", text, c.Cache.Used, c.Cache.Size, trace.Printable(c.Cache.Unit))
	}
	if share, apart, known := c.whole.Share(); known {
		p.wrap("  ", shareText(share, c.whole.Total, apart))
	}
	if c.whole.Unwatched {
		p.line("  Start the program with memtop run --driver-calls to see which libraries take memory of the driver.")
	}
	if c.CostNS > 0 {
		p.line("  Reading this has taken %v of the program's time.", time.Duration(c.CostNS).Round(time.Millisecond))
	}
}

// shareText says what vLLM may be told to use, and the sum behind that.
func shareText(hundredths, total int64, apart []card.Row) string {
	text := fmt.Sprintf("gpu_memory_utilization can be %d.%02d at most: %s", hundredths/100, hundredths%100, quantity.Bytes(total))
	for i, row := range apart {
		text += []string{" less ", ", "}[min(i, 1)] + row.Name + " " + quantity.Bytes(row.Bytes)
	}
	return text + "."
}

// ledgerLines writes each row with what is known of it, else with a bar.
func ledgerLines[Kind any](p *page, rows []ledger.Row[Kind], whole int64) {
	whole = max(whole, 1)
	for _, row := range rows {
		note := row.Detail
		if note == "" {
			note = bar(max(row.Bytes, 0), whole, 30)
		}
		p.line("  %-26s%12s %3d%%  %s", row.Name, quantity.Bytes(row.Bytes), analysis.Percent(row.Bytes, whole), note)
	}
}
