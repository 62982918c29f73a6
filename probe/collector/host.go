package collector

import (
	"slices"

	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/analysis/host"
)

// hosts returns what the programs and their workers have of the machine's memory, by
// the rows of their ledgers, and how much is left of the limit that is nearest.
func hosts(all []protocol.Measured) []exposition.Family {
	rows := exposition.Family{Name: "memtop_host_bytes", Unit: "bytes", Help: "Bytes of the machine's memory that the kernel charges the program, by kind."}
	limits := exposition.Family{Name: "memtop_host_limit_bytes", Unit: "bytes", Help: "Bytes of the limit of host memory that is nearest: of the control group, the machine or the address space."}
	left := exposition.Family{Name: "memtop_host_left_bytes", Unit: "bytes", Help: "Bytes that are left of that limit."}
	for _, program := range all {
		for i := range program.Info.Gauges {
			g := &program.Info.Gauges[i]
			if g.Host == nil {
				continue
			}
			for _, row := range host.Of(g.Host).Rows {
				rows.Samples = append(rows.Samples, exposition.Sample{Labels: slices.Concat(program.Labels, []string{"kind", row.Name}), Value: float64(row.Bytes)})
			}
			if l, known := g.Nearest(); known {
				limits.Samples = append(limits.Samples, exposition.Sample{Labels: program.Labels, Value: float64(l.Bytes)})
				left.Samples = append(left.Samples, exposition.Sample{Labels: program.Labels, Value: float64(l.Left())})
			}
			break // one ledger of each program
		}
	}
	return []exposition.Family{rows, limits, left}
}
