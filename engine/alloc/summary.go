package alloc

import (
	"fmt"
	"strings"
)

// Summary returns torch.cuda.memory_summary(): a table 77 columns wide, in
// units that keep the numbers short. abbreviated leaves out the two pools.
func (s *Stats) Summary(device int, abbreviated bool) string {
	t := &table{abbreviated: abbreviated}
	t.rule("=")
	t.row(" %16s PyTorch CUDA memory summary, device ID %-17d ", "", device)
	t.rule("-")
	t.row("  %9s CUDA OOMs: %-12d | %6s cudaMalloc retries: %-8d  ", "", s.OOMs, "", s.AllocRetries)
	t.rule("=")
	t.row("        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ")
	t.counter("Allocated memory", &s.AllocatedBytes, bytesIn)
	t.counter("Active memory", &s.ActiveBytes, bytesIn)
	t.counter("Requested memory", &s.RequestedBytes, bytesIn)
	t.counter("GPU reserved memory", &s.ReservedBytes, bytesIn)
	t.counter("Non-releasable memory", &s.InactiveSplitBytes, bytesIn)
	t.counter("Allocations", &s.Allocation, countIn)
	t.counter("Active allocs", &s.Active, countIn)
	t.counter("GPU reserved segments", &s.Segment, countIn)
	t.counter("Non-releasable allocs", &s.InactiveSplit, countIn)
	t.oversize("Oversize allocations", &s.OversizeAllocations)
	t.oversize("Oversize GPU segments", &s.OversizeSegments)
	t.rule("=")
	return t.String()
}

type table struct {
	strings.Builder
	abbreviated bool
}

func (t *table) rule(of string) { t.row("%s", strings.Repeat(of, 75)) }

func (t *table) row(format string, values ...any) {
	t.WriteByte('|')
	fmt.Fprintf(t, format, values...)
	t.WriteString("|\n")
}

// scale writes a number in the unit that suits another.
type scale func(n, suits int64) string

func (t *table) counter(name string, c *PoolCounter, in scale) {
	t.rule("-")
	t.values(name, &c.All, &c.All, in)
	if t.abbreviated {
		return
	}
	t.values("      from large pool", c.Large(), &c.All, in)
	t.values("      from small pool", c.Small(), &c.All, in)
}

func (t *table) oversize(name string, c *Counter) {
	t.rule("-")
	t.values(name, c, c, countIn)
}

func (t *table) values(name string, c, suits *Counter, in scale) {
	t.row(" %-21s | %s | %s | %s | %s ", name,
		in(c.Current, suits.Current), in(c.Peak, suits.Peak),
		in(c.Allocated, suits.Allocated), in(c.Freed, suits.Freed))
}

// bytesIn goes to the next unit from 768 of that on.
func bytesIn(n, suits int64) string {
	unit, f := "B  ", float64(suits)
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if f < 768*1024 {
			break
		}
		unit, n, f = larger, n>>10, f/1024
	}
	return fmt.Sprintf("%6d %s", n, unit)
}

// countIn goes to the next unit from 750 of that on.
func countIn(n, suits int64) string {
	unit, f := " ", float64(suits)
	for _, larger := range []string{"K", "M"} {
		if f < 750*1000 {
			break
		}
		unit, n, f = larger, n/1000, f/1000
	}
	return fmt.Sprintf("%7d %s ", n, unit)
}
