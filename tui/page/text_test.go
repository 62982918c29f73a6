package page

import (
	"math"
	"strings"
	"testing"

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
