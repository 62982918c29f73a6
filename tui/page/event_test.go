package page

import (
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

// renamed returns the small trace with its annotations called otherwise.
func renamed(names func(string) string) *trace.Trace {
	tr := tuitest.Small()
	tables := *tr.Tables
	tables.Strings = slices.Clone(tables.Strings)
	ids := make(map[string]trace.StringID)
	for i := range tr.Annotations {
		a := &tr.Annotations[i]
		name := names(tables.String(a.Name))
		if ids[name] == 0 {
			ids[name] = trace.StringID(len(tables.Strings))
			tables.Strings = append(tables.Strings, name)
		}
		a.Name = ids[name]
	}
	tr.Tables = &tables
	return tr
}

// TestAnEventIsWithinTheAnnotationsThatAreOpenAtIt compares what is said of each event
// with the times of all annotations.
func TestAnEventIsWithinTheAnnotationsThatAreOpenAtIt(t *testing.T) {
	for name, tr := range map[string]*trace.Trace{
		"steps of a profiler": tuitest.Small(),
		"optimizer steps": renamed(func(name string) string {
			return strings.NewReplacer("ProfilerStep#", "epoch ", "backward", "Optimizer.step#AdamW.step").Replace(name)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			s := NewScene(screen.NewTheme(false, false), analysis.NewIndex(tr, &tr.Devices[0]))
			if len(s.Steps) == 0 {
				t.Fatal("the trace has no steps")
			}
			inside, outside := 0, 0
			for i := range s.Last() + 1 {
				said := placeOf(s, i)
				for name, open := range openAt(tr, s.Events().At(i).Time) {
					if got := strings.Contains(said, name); got != open {
						t.Fatalf("event %d: %q is open: %v, but it says\n%s", i, name, open, said)
					}
					if open {
						inside++
					} else {
						outside++
					}
				}
			}
			if inside == 0 || outside == 0 {
				t.Errorf("%d times an event is within an annotation and %d times not: the test needs both", inside, outside)
			}
		})
	}
}

// placeOf is what the detail of an event says of where in the run it is.
func placeOf(s *Scene, i int) string {
	var said strings.Builder
	for _, line := range EventLines(s, i, false) {
		if line.Label == "time" || line.Label == "within" {
			said.WriteString(line.Text + "\n")
		}
	}
	return said.String()
}

// openAt says of each annotation whether it is open at a time.
func openAt(tr *trace.Trace, time int64) map[string]bool {
	open := make(map[string]bool)
	for _, a := range tr.Annotations {
		name, begins := tr.Tables.String(a.Name), tr.Tables.String(a.Stage) == "START"
		switch {
		case begins && a.Time <= time:
			open[name] = true
		case !begins && a.Time < time, begins && !open[name]:
			open[name] = false
		}
	}
	return open
}
