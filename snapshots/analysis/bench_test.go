package analysis

import (
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/trace"
)

// benchmarkEvents is about what 64 copies of a training step hold.
const benchmarkEvents = 1_400_000

// long returns a trace of 1.4 million events: a consistent one over and over,
// each time at other addresses, so that thousands of blocks are live.
var long = sync.OnceValue(func() *trace.Trace {
	const stride = 1 << 44
	part := pytorchtest.Random(pytorchtest.Options{Seed: 1, Operations: 20_000})
	from := &part.Devices[0]
	var log trace.EventLog
	device := trace.Device{ID: 0}
	for copies := uint64(0); log.Len() < benchmarkEvents; copies++ {
		for i := range from.Events.Len() {
			e := *from.Events.At(i)
			e.Addr += copies * stride
			e.Time += int64(copies) * 10_000_000
			log.Append(e)
		}
		for _, s := range from.Final.Segments {
			s.Addr += copies * stride
			s.Blocks = append([]trace.Block(nil), s.Blocks...)
			for b := range s.Blocks {
				s.Blocks[b].Addr += copies * stride
			}
			device.Final.Segments = append(device.Final.Segments, s)
		}
	}
	device.Events = log.Events()
	t := *part
	t.Devices = []trace.Device{device}
	return &t
})

var longIndex = sync.OnceValue(func() *Index { return NewIndex(long(), &long().Devices[0]) })

func BenchmarkNewIndex(b *testing.B) {
	t := long()
	b.ReportAllocs()
	for b.Loop() {
		NewIndex(t, &t.Devices[0])
	}
}

// BenchmarkAsk measures what pages ask of an index of 1.4 million events. What
// is computed once is computed before.
func BenchmarkAsk(b *testing.B) {
	x := longIndex()
	n := x.End() + 1
	b.Logf("%d events, %d alive in the middle in %d segments", n, len(x.AliveAt(n/2)), len(x.SegmentsAt(n/2).Segments))
	questions := []struct {
		name string
		ask  func(at int)
	}{
		{"TimelineByCategory", func(at int) { x.Timeline(ByCategory, at/2, n, 200) }},
		{"TimelineByStack", func(at int) { x.Timeline(ByStack, at/2, n, 200) }},
		{"TimelineByAllocation", func(at int) { x.Timeline(ByAllocation, at/2, n, 200) }},
		{"TimelineByTime", func(at int) { x.TimelineByTime(ByCategory, at/2, n, 200) }},
		{"SegmentTimeline", func(at int) { x.SegmentTimeline(at/2, n, 200) }},
		{"RequestedAt", func(at int) { x.RequestedAt(at) }},
		{"AliveAt", func(at int) { x.AliveAt(at) }},
		{"LargestAt", func(at int) { x.LargestAt(at, 100) }},
		{"HoldersAt", func(at int) { x.HoldersAt(at) }},
		{"Stacks", func(at int) { x.Stacks(at, StackOptions{HideRuntime: true}) }},
		{"SegmentsAt", func(at int) { x.SegmentsAt(at) }},
		{"CategoriesAt", func(at int) { x.CategoriesAt(at) }},
	}
	for _, q := range questions {
		b.Run(q.name, func(b *testing.B) {
			q.ask(n / 3)
			b.ReportAllocs()
			at := 0
			for b.Loop() {
				at = (at + 104_729) % n
				q.ask(at)
			}
		})
	}
}
