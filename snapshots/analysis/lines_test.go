package analysis

import (
	"regexp"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// notOwn is what no file of the shared programs is called, written down apart
// from the rules of the package that is tested.
var notOwn = regexp.MustCompile(`site-packages|^<frozen|/torch/|[/\\]lib[/\\]python3|cpython-|torchinductor`)

// ownLine finds the program's innermost line by looking at every frame.
func ownLine(x *Index, stack trace.StackID) trace.FrameID {
	t := x.Trace().Tables
	for _, id := range t.Stack(stack) {
		file := t.String(t.Frames[id].File)
		if strings.HasSuffix(file, ".py") && !notOwn.MatchString(file) {
			return id
		}
	}
	return 0
}

func TestLinesOfRealFilesEqualACountOfAllLiveBlocks(t *testing.T) {
	fatal.IfShort(t)
	onfile.Shared(t, func(t *testing.T, _ string, tr *trace.Trace) {
		t.Helper()
		for i := range tr.Devices {
			x := NewIndex(tr, &tr.Devices[i])
			for _, at := range []int{-1, x.End() / 3, x.Summary().PeakEvent, x.End()} {
				compareLines(t, x, at)
			}
		}
	})
}

func compareLines(t *testing.T, x *Index, at int) {
	t.Helper()
	type sums struct {
		self, total int64
		count       int
	}
	want, whole := make(map[trace.FrameID]sums), int64(0)
	alive := x.AliveAt(at)
	for i := range alive {
		a := &alive[i]
		whole += a.Size
		if a.FreeStack {
			continue // the stack is that of its end
		}
		own := ownLine(x, a.Stack)
		passed := map[trace.FrameID]bool{0: true}
		for _, id := range x.Trace().Tables.Stack(a.Stack) {
			if file := x.Trace().Tables.String(x.Trace().Tables.Frames[id].File); !passed[id] && strings.HasSuffix(file, ".py") && !notOwn.MatchString(file) {
				s := want[id]
				s.total += a.Size
				want[id], passed[id] = s, true
			}
		}
		s := want[own]
		s.self += a.Size
		s.count++
		want[own] = s
	}
	table, sum := LinesAt(x, at, lines.Line, false), int64(0)
	for _, row := range table.Rows {
		sum += row.Self
		if w := want[row.Frame]; row.Own && (row.Self != w.self || row.SelfCount != w.count || row.Total != w.total) {
			t.Errorf("after event %d, %s: got %d in %d, with calls %d; want %+v", at, row.Name, row.Self, row.SelfCount, row.Total, w)
		}
		if row.Own {
			delete(want, row.Frame)
		}
	}
	delete(want, 0)
	if len(want) != 0 || sum != whole || table.Bytes != whole {
		t.Errorf("after event %d: %d lines are missing, the rows sum to %d of %d, the table says %d", at, len(want), sum, whole, table.Bytes)
	}
}

func TestThePeakIsFromTheLineWhoseStacksTogetherHoldMost(t *testing.T) {
	x := indexOf(t, tracetest.Frames+`
frame once "/home/me/model.py" 30 "attend"
frame here "/home/me/train.py" 11 "main"
frame there "/home/me/train.py" 12 "main"
stack large malloc once user
stack small1 malloc layer here
stack small2 malloc layer there
device 0
alloc 0x1000000 300 stack=large
alloc 0x2000000 200 stack=small1
alloc 0x3000000 201 stack=small2
`)
	found := x.Findings()
	for i := range found {
		if f := &found[i]; f.Kind == PeakFinding {
			if !strings.Contains(f.Evidence, "401 B (57%), is from model.py:20 forward") || x.Lifetimes().Allocation(2).Stack != f.Where.Stack {
				t.Errorf("got %q at stack %d", f.Evidence, f.Where.Stack)
			}
			return
		}
	}
	t.Error("no finding is about the peak")
}
