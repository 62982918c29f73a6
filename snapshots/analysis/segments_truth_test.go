package analysis_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/google/go-cmp/cmp"
)

// trueLines returns a state's segments and live blocks as lines. The real size
// of a live block in a large pool is left out: it may lie up to 1 MiB above
// the rounded request, and no event says by how much.
func trueLines(t *trace.Trace, state trace.State) []string {
	large := trace.StringID(slices.Index(t.Tables.Strings, "large"))
	var lines []string
	for _, s := range state.Segments {
		lines = append(lines, fmt.Sprintf("segment %#x of %d, stream %d, pool %v", s.Addr, s.Size, s.Stream, t.Tables.Pools[s.Pool]))
		for _, b := range s.Blocks {
			if !b.State.Live() {
				continue
			}
			if s.Type == large && !s.Expandable {
				b.Size = 0
			}
			lines = append(lines, fmt.Sprintf("%s block %#x of %d, %d requested, stack %d", b.State, b.Addr, b.Size, b.Requested, b.Stack))
		}
	}
	return lines
}

func mapLines(t *trace.Trace, m *analysis.Map) []string {
	var lines []string
	for _, s := range m.Segments {
		lines = append(lines, fmt.Sprintf("segment %#x of %d, stream %d, pool %v", s.Addr, s.Size, s.Stream, t.Tables.Pools[s.Pool]))
		for _, b := range s.Blocks {
			if !b.State.Live() {
				continue
			}
			if s.Class == "large" && !s.Expandable {
				b.Size = 0
			}
			stack := max(b.Stack, trace.EmptyStack)
			lines = append(lines, fmt.Sprintf("%s block %#x of %d, %d requested, stack %d", b.State, b.Addr, b.Size, b.Requested, stack))
		}
	}
	return lines
}

// TestSegmentsAtAnyEventAreTheTrueOnes compares the map with what a simulated
// allocator really held at that moment.
func TestSegmentsAtAnyEventAreTheTrueOnes(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			states := map[int]trace.State{-1: {}}
			tr := pytorchtest.Random(pytorchtest.Options{
				Seed: seed, Operations: 300, Expandable: seed%2 == 1,
				Watch: func(_, event int, state trace.State) { states[event] = state },
			})
			x := analysis.NewIndex(tr, &tr.Devices[0])
			for event, state := range states {
				m := x.SegmentsAt(event)
				if diff := cmp.Diff(trueLines(tr, state), mapLines(tr, m)); diff != "" {
					t.Fatalf("after event %d (-true +map):\n%s", event, diff)
				}
				if m.Outside != 0 {
					t.Errorf("after event %d: %d bytes outside of any segment, want 0", event, m.Outside)
				}
			}
		})
	}
}
