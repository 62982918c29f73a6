package analysis

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/trace"
)

// truth is what the simulated allocator really held after some event.
type truth struct {
	event int
	state trace.State
}

func watched(o pytorchtest.Options) (*trace.Trace, []truth) {
	var states []truth
	o.Watch = func(_, event int, s trace.State) {
		if n := len(states); n > 0 && states[n-1].event == event {
			states = states[:n-1]
		}
		states = append(states, truth{event, s})
	}
	return pytorchtest.Random(o), states
}

// outline writes the segments and live blocks of a map in a comparable form.
func outline(m *Map) []string {
	var lines []string
	for i := range m.Segments {
		s := &m.Segments[i]
		lines = append(lines, fmt.Sprintf("segment %x %d stream %d pool %d expandable %v", s.Addr, s.Size, s.Stream, s.Pool, s.Expandable))
		for _, b := range s.Blocks {
			if b.State.Live() {
				lines = append(lines, fmt.Sprintf("  block %x requested %d %s size %d stack %d", b.Addr, b.Requested, b.State, b.Size, max(b.Stack, trace.EmptyStack)))
			}
		}
	}
	return lines
}

func outlineState(state *trace.State) []string {
	m := &Map{Segments: make([]MapSegment, len(state.Segments))}
	for i := range state.Segments {
		from := &state.Segments[i]
		m.Segments[i] = MapSegment{SegmentFacts: from.SegmentFacts, Addr: from.Addr, Size: from.Size, Blocks: make([]MapBlock, len(from.Blocks))}
		for b := range from.Blocks {
			m.Segments[i].Blocks[b].fill(&from.Blocks[b], nil)
		}
	}
	return outline(m)
}

func TestMapEqualsTheAllocatorsAtEveryEvent(t *testing.T) {
	fatal.IfShort(t)
	for seed := range seeds(8) {
		for _, expandable := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed %d expandable %v", seed, expandable), func(t *testing.T) {
				tr, states := watched(pytorchtest.Options{Seed: seed, Operations: 400, Expandable: expandable})
				x := NewIndex(tr, &tr.Devices[0])
				for _, want := range states {
					m := x.inferMap(want.event)
					if m.Active+m.Free != m.Reserved || m.Requested != x.RequestedAt(want.event) || m.Reserved != x.ReservedAt(want.event) {
						t.Fatalf("after event %d it does not add up: %+v", want.event, m)
					}
					if diff := cmp.Diff(outlineState(&want.state), outline(m)); diff != "" {
						t.Fatalf("after event %d (-want +got):\n%s", want.event, diff)
					}
				}
			})
		}
	}
}
