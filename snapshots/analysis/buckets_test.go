package analysis

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

const bucketTrace = `memtop-trace 1
device 0
segment_alloc 0x10000000 2097152 @1000100
alloc 0x10000000 4096 @1000200
alloc 0x10001000 4096 @1000900
free_completed 0x10001000 4096 @1001100
alloc 0x10002000 8192 @1004500
segment 0x10000000 2097152 stream=0 type="small"
block 0x10000000 4096 active_allocated requested=4096
block 0x10001000 4096 inactive
block 0x10002000 8192 active_allocated requested=8192
block 0x10004000 2080768 inactive
`

func TestBucketsOfFixedSpansStayAsTheyAre(t *testing.T) {
	made := tracetest.Parse(t, bucketTrace)
	totals := func(tl Timeline) []int64 {
		var all []int64
		for i := range tl.Columns {
			all = append(all, tl.Columns[i].Total)
		}
		return all
	}
	x := NewIndex(made, &made.Devices[0])
	equal.Values(t, "all columns", []int64{8192, 8192, 4096, 4096, 12288}, totals(x.Buckets(1000, 10)))
	equal.Values(t, "the last two", []int64{4096, 12288}, totals(x.Buckets(1000, 2)))
	shorter := *made
	shorter.Devices = []trace.Device{made.Devices[0]}
	shorter.Devices[0].Events = made.Devices[0].Events.Slice(0, 4)
	shorter.Devices[0].Final = trace.State{}
	before := NewIndex(&shorter, &shorter.Devices[0])
	equal.Values(t, "before the last event came", []int64{8192, 8192}, totals(before.Buckets(1000, 10)))
}

func TestColumnsOfEquallyManyEventsStayAsTheyAre(t *testing.T) {
	made := tracetest.Parse(t, bucketTrace)
	x := NewIndex(made, &made.Devices[0])
	tests := map[string]struct {
		from, events, n int
		want            [][2]int
	}{
		"the last is unfinished":     {0, 2, 10, [][2]int{{0, 2}, {2, 4}, {4, 5}}},
		"no more than there is room": {1, 2, 1, [][2]int{{1, 3}}},
		"nothing past the end":       {5, 2, 10, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got [][2]int
			for _, c := range x.TimelineEvery(test.from, test.events, test.n).Columns {
				got = append(got, [2]int{c.From, c.To})
			}
			equal.Values(t, "columns", test.want, got)
		})
	}
}
