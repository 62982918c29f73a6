package page

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

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
