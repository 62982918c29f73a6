package traintest_test

import (
	"maps"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/cmd/testing/traintest"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestRunsAreWhatTheySay counts what is held at the end of each run.
func TestRunsAreWhatTheySay(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	runs := traintest.Innocent()
	maps.Copy(runs, traintest.Leaking())
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			tr := run.Trace(t)
			if problems := tracetest.Check(tr); problems.Count > 0 {
				t.Errorf("%d problems: %v", problems.Count, problems.First)
			}
			held := heldByTag(tr)
			if l := run.Leaks; l != nil {
				if got := held[traintest.Tensors{Category: l.Category, Layer: l.Layer, Role: l.Role}]; got != l.Bytes {
					t.Errorf("at the end %d bytes of %s %s are held, want %d", got, l.Layer, l.Role, l.Bytes)
				}
				return
			}
			for tensors, bytes := range held {
				if tensors.Category == "activation" || tensors.Category == "gradient" || bytes > 1<<18 {
					t.Errorf("at the end %d bytes of %+v are held", bytes, tensors)
				}
			}
		})
	}
}

// heldByTag adds up the live blocks of the final state.
func heldByTag(tr *trace.Trace) map[traintest.Tensors]int64 {
	held := make(map[traintest.Tensors]int64)
	for _, s := range tr.Devices[0].Final.Segments {
		for i := range s.Blocks {
			b := &s.Blocks[i]
			if !b.State.Live() {
				continue
			}
			n := &tr.Tables.Notes[b.Note]
			text := tr.Tables.String
			held[traintest.Tensors{Category: text(n.Category), Layer: text(n.Layer), Role: text(n.Role)}] += b.Requested
		}
	}
	return held
}
