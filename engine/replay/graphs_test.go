package replay

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
)

// captured is a program that captures a graph for each size, in pools of their own or
// in one. It returns its trace and the events of each capture.
func captured(t *testing.T, onePool bool, sizes ...int64) (tr *trace.Trace, spans [][2]int) {
	t.Helper()
	a, err := alloc.New(dry.NewMemory(plenty), alloc.Options{History: 1000})
	fatal.If(t, err)
	_, err = a.Alloc(30*mib, 0, alloc.Tag{})
	fatal.If(t, err)
	for i, size := range sizes {
		pool := trace.Pool{int64(i + 1), 0}
		if onePool {
			pool = trace.Pool{1, 0}
		}
		from := a.Snapshot().Devices[0].Events.Len()
		fatal.If(t, a.BeginPool(pool, nil))
		work, err := a.Alloc(4*size*mib, 0, alloc.Tag{})
		fatal.If(t, err)
		_, err = a.Alloc(size*mib, 0, alloc.Tag{}) // the output
		fatal.If(t, err)
		a.Free(work)
		fatal.If(t, a.EndPool(pool))
		spans = append(spans, [2]int{from, a.Snapshot().Devices[0].Events.Len()})
	}
	return a.Snapshot(), spans
}

func reservedIn(tr *trace.Trace) int64 { return tr.Devices[0].Final.Reserved() }

// TestGraphsCapturedOtherwiseReserveWhatTheReplaySays makes each change in the program too.
func TestGraphsCapturedOtherwiseReserveWhatTheReplaySays(t *testing.T) {
	sizes := []int64{16, 12, 8, 3, 2}
	for _, onePool := range []bool{false, true} {
		tr, spans := captured(t, onePool, sizes...)
		var all []trace.Pool
		for i := range sizes {
			all = append(all, trace.Pool{int64(i + 1), 0})
		}
		changes := []whatif.GraphChange{{OnePool: all}}
		together, _ := captured(t, true, sizes...)
		want := []int64{reservedIn(together)}
		for i, span := range spans {
			changes = append(changes, whatif.GraphChange{From: span[0], To: span[1], Of: all[i]})
			if onePool {
				changes[1+i].Of = all[0]
			}
			without, _ := captured(t, onePool, slices.Delete(slices.Clone(sizes), i, i+1)...)
			want = append(want, reservedIn(without))
		}
		a := ask(t, whatif.Question{Trace: tr, Settings: []string{}, Graphs: changes, Captured: tr.Devices[0].Events.Len() - 1, Exact: true})
		equal.Values(t, "the recorded program", reservedIn(tr), a.Again.Captured)
		var got []int64
		for _, run := range a.Graphs {
			got = append(got, run.Captured)
		}
		equal.Values(t, "the changed programs", want, got)
	}
}
