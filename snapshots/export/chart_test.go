package export

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
)

func TestTheFatalOfManyFailuresIsMarked(t *testing.T) {
	tr := tracetest.Parse(t, "device 0\nalloc 0x100 512 @0\n"+strings.Repeat("oom 0 1048576 @1\n", 2000))
	var marked []int
	for _, m := range (snapshot{index: analysis.NewIndex(tr, &tr.Devices[0])}).chart().Marks {
		if m.Class == "oom" {
			marked = append(marked, m.Event)
		}
	}
	if len(marked) != 50 || marked[48] != 49 || marked[49] != 2000 {
		t.Errorf("the chart marks %v", marked)
	}
}
