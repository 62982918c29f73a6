package collector

import (
	"slices"
	"strconv"

	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/analysis/card"
	"github.com/memtop/memtop/snapshots/analysis/host"
	"github.com/memtop/memtop/snapshots/trace"
)

// hosts returns what the programs and their workers have of the machine's memory and of
// their devices, by the rows of their ledgers, how much is left of the limit of host
// memory that is nearest, and how full the caches of servers are.
func hosts(all []protocol.Measured) []exposition.Family {
	rows := exposition.Family{Name: "memtop_host_bytes", Unit: "bytes", Help: "Bytes of the machine's memory that the kernel charges the program, by kind."}
	limits := exposition.Family{Name: "memtop_host_limit_bytes", Unit: "bytes", Help: "Bytes of the limit of host memory that is nearest: of the control group, the machine or the address space."}
	cards := exposition.Family{Name: "memtop_card_bytes", Unit: "bytes", Help: "Bytes of a device's memory that are in use, by who has them."}
	caches := exposition.Family{Name: "memtop_kv_cache_used_ratio", Unit: "ratio", Help: "Share of a server's cache of keys and values that is in use, from 0 to 1."}
	left := exposition.Family{Name: "memtop_host_left_bytes", Unit: "bytes", Help: "Bytes that are left of that limit."}
	for _, program := range all {
		listed := false // one ledger of the host for each program
		for i := range program.Info.Gauges {
			g := &program.Info.Gauges[i]
			if g.Card != nil && g.Used >= 0 {
				addCard(&cards, program.Labels, g)
				addCache(&caches, program.Labels, g)
			}
			if g.Host == nil || listed {
				continue
			}
			listed = true
			for _, row := range host.Of(g.Host).Rows {
				rows.Samples = append(rows.Samples, exposition.Sample{Labels: slices.Concat(program.Labels, []string{"kind", row.Name}), Value: float64(row.Bytes)})
			}
			if l, known := g.Nearest(); known {
				limits.Samples = append(limits.Samples, exposition.Sample{Labels: program.Labels, Value: float64(l.Bytes)})
				left.Samples = append(left.Samples, exposition.Sample{Labels: program.Labels, Value: float64(l.Left())})
			}
		}
	}
	return []exposition.Family{rows, limits, left, cards, caches}
}

// addCard adds a device's ledger. Other processes are one row: their numbers would make
// a series of each.
func addCard(to *exposition.Family, labels []string, g *trace.Gauge) {
	sums, names := make(map[string]float64), []string(nil)
	for _, row := range card.Of(g, card.Reserved{Default: g.Card.Reserved}).Rows {
		name := row.Name
		if row.Kind == card.Process {
			name = "other processes"
		}
		if _, known := sums[name]; !known {
			names = append(names, name)
		}
		sums[name] += float64(row.Bytes)
	}
	for _, name := range names {
		to.Samples = append(to.Samples, exposition.Sample{Labels: slices.Concat(labels, []string{"device", strconv.Itoa(g.Device), "kind", name}), Value: sums[name]})
	}
}

func addCache(to *exposition.Family, labels []string, g *trace.Gauge) {
	if c := g.Card.Cache; c != nil && c.Size > 0 {
		to.Samples = append(to.Samples, exposition.Sample{Labels: slices.Concat(labels, []string{"device", strconv.Itoa(g.Device)}), Value: float64(c.Used) / float64(c.Size)})
	}
}
