package trace_test

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestAnEventsOwnPoolCounts has memory of the default pool go back, and a private pool
// get its address.
func TestAnEventsOwnPoolCounts(t *testing.T) {
	tr := tracetest.Parse(t, `
note default pool=0,0
device 0
alloc 0x1000 512 note=default
alloc 0x1000 512
alloc 0x9000 512
oom 4096 512
segment 0x1000 4096 pool=2,0
block 0x1000 4096 inactive
`)
	pools := trace.NewPools(tr, &tr.Devices[0])
	for i, want := range []trace.Pool{{}, {2, 0}, {}, {}} {
		equal.Values(t, "the pool", want, pools.Of(tr.Devices[0].Events.At(i)))
	}
}
