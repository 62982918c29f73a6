package trace_test

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// crowded is a segment with a thousand live blocks of 1 KiB, every second one of which is
// freed and allocated again and again.
func crowded() (trace.State, []trace.Event) {
	const addr, size, blocks = 0x7f00_0000_0000, 1024, 1000
	s := trace.Segment{Addr: addr, Size: (blocks + 1) * size, SegmentFacts: trace.SegmentFacts{Stack: 1}}
	var events []trace.Event
	for i := range blocks {
		at := addr + uint64(i)*size
		s.Blocks = append(s.Blocks, trace.Block{Addr: at, Size: size, Requested: 1000, State: trace.Allocated, Given: trace.GaveRequested})
		if i%2 == 0 {
			e := trace.Event{Addr: at, Size: 1000, Time: int64(i)}
			for _, k := range []trace.Kind{trace.FreeRequested, trace.FreeCompleted, trace.Alloc} {
				e.Kind = k
				events = append(events, e)
			}
		}
	}
	return trace.State{Segments: []trace.Segment{s}}, events
}

func BenchmarkFollowerAppend(b *testing.B) {
	state, events := crowded()
	f := trace.NewFollower(trace.NewInterner(), 1<<18)
	f.Describe(trace.Info{}, []trace.Setting{{Key: "expandable_segments", Value: true}})
	f.Base(0, 0, state, 0, "")
	b.ReportAllocs()
	for b.Loop() {
		f.Append(0, events)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
	if problems := f.Problems(); problems.Count > 0 {
		b.Fatal(problems.First[0])
	}
}

func BenchmarkFollowerPublish(b *testing.B) {
	state, events := crowded()
	f := trace.NewFollower(trace.NewInterner(), 1<<18)
	f.Describe(trace.Info{}, []trace.Setting{{Key: "expandable_segments", Value: true}})
	f.Base(0, 0, state, 0, "")
	b.ReportAllocs()
	for b.Loop() {
		f.Append(0, events[:3])
		f.Publish(nil, nil)
	}
}
