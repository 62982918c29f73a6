package page

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

func TestABarOfBlocksOfAnySize(t *testing.T) {
	const size = 4096
	tests := map[string]struct {
		blocks []int64
		live   []bool // of four cells
	}{
		"blocks that fill it":               {[]int64{2048, 2048}, []bool{true, true, true, true}},
		"one below zero":                    {[]int64{-1 << 40, 1024}, []bool{true, false, false, false}},
		"one that goes on behind it":        {[]int64{math.MaxInt64}, []bool{true, true, true, true}},
		"several that are more than 63 bit": {[]int64{math.MaxInt64, math.MaxInt64, math.MinInt64}, []bool{true, true, true, true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := &analysis.MapSegment{Size: size}
			for _, n := range test.blocks {
				s.Blocks = append(s.Blocks, analysis.MapBlock{Size: n, State: trace.Allocated})
			}
			for i, m := range mixes(s, len(test.live)) {
				if m.live > 0 != test.live[i] {
					t.Errorf("cell %d has %d live bytes, want some: %v", i, m.live, test.live[i])
				}
			}
		})
	}
}

func TestASparkOfAnyNumbers(t *testing.T) {
	for name, values := range map[string][]int64{
		"the extremes":          {math.MinInt64, 0, math.MaxInt64},
		"neighbours far from 0": {math.MaxInt64 - 1, math.MaxInt64},
	} {
		t.Run(name, func(*testing.T) {
			Spark(screen.New(screen.NewTheme(false, false), 10, 1), 0, 0, 10, values, screen.Plain)
		})
	}
}

func TestCategoriesHaveLettersOfTheirOwn(t *testing.T) {
	seen := map[rune]trace.Category{}
	for _, c := range trace.Categories {
		r := Letter(c)
		if other, ok := seen[r]; ok || r == HeldLetter {
			t.Errorf("%v and %v share the letter %c", c, other, r)
		}
		if seen[r] = c; (r == '?') != (c == trace.OtherCategory) {
			t.Errorf("%v has the letter %c", c, r)
		}
	}
}

func TestMetadataOfADictIsReadable(t *testing.T) {
	for metadata, want := range map[string]string{
		`{"step":7,"phase":"warm up"}`: "step: 7, phase: warm up",
		`{"a":{"b":[1,null]},"c":"é"}`: `a: {"b":[1,null]}, c: é`,
		`{}`:                           "",
		`{"step":7`:                    `{"step":7`,
		`{"step":7} and more`:          `{"step":7} and more`,
		`["a"]`:                        `["a"]`,
		"layer 3":                      "layer 3",
		`{"long":"` + strings.Repeat("x", 4<<10) + `"}`: `{"long":"` + strings.Repeat("x", 4<<10) + `"}`,
	} {
		if got := metadataText(metadata); got != want {
			t.Errorf("%s is shown as %q, want %q", metadata, got, want)
		}
	}
}

func TestTheAllocatorsNoteIsShown(t *testing.T) {
	in := trace.NewInterner()
	id := in.Note(trace.Note{UserMetadata: in.String(`{"step":7}`), Internal: in.String(trace.AtAddress)})
	tables := in.View()
	var text []string
	for _, line := range NoteLines(&tables, id) {
		text = append(text, line.Label+" "+line.Text)
	}
	if got := strings.Join(text, "; "); got != "metadata step: 7; allocator mallocWithAddress" {
		t.Errorf("the note is shown as %q", got)
	}
}

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
