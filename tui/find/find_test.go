package find

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"
)

// count returns how many events of the small trace match.
func count(t *testing.T, query string) int {
	t.Helper()
	tr := tuitest.Small()
	m, n := New(tr.Tables, query), 0
	events := tr.Devices[0].Events
	for i := range events.Len() {
		if m.Event(events.At(i)) {
			n++
		}
	}
	return n
}

func TestMatching(t *testing.T) {
	tests := map[string]struct {
		query string
		all   string // matches the same events
	}{
		"case does not matter":           {query: "LOG_LOSS", all: "log_loss"},
		"words are joined by and":        {query: "log_loss alloc", all: "alloc log_loss"},
		"a size as it is shown":          {query: "58.6KiB", all: "60000"},
		"a file with a line":             {query: "attention.py:31", all: "attend"},
		"an address with and without 0x": {query: "0x7f0003600000", all: "7f0003600000"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, want := count(t, test.query), count(t, test.all)
			if got == 0 || got != want {
				t.Errorf("%q matches %d events, %q matches %d", test.query, got, test.all, want)
			}
		})
	}
}

func TestBoundsSplitTheSizes(t *testing.T) {
	all := count(t, "")
	below, above, exact := count(t, "<2MiB"), count(t, ">2MiB"), count(t, "2097152")
	if below == 0 || above == 0 || below+above+exact != all {
		t.Errorf("%d below, %d above and %d exactly 2 MiB, of %d", below, above, exact, all)
	}
}

func TestWhatIsNowhereMatchesNothing(t *testing.T) {
	for _, query := range []string{"no_such_function", "0x123456789abc", "alloc no_such_file.py", ">999GiB", "<x"} {
		if got := count(t, query); got != 0 {
			t.Errorf("%q matches %d events", query, got)
		}
	}
}

func TestANoteIsSearched(t *testing.T) {
	in := trace.NewInterner()
	note := in.Note(trace.Note{UserMetadata: in.String("Layer 7"), Forward: in.List([]trace.StringID{in.String("fwd.py:3 loss")})})
	tables := in.View()
	e := trace.Event{Kind: trace.Alloc, Note: note, Size: 1}
	for query, want := range map[string]bool{"layer": true, "fwd.py": true, "layer 7": true, "layer 8": false} {
		if got := New(&tables, query).Event(&e); got != want {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
}

func TestAScanFindsWhatTheMatcherMatches(t *testing.T) {
	tr := tuitest.Small()
	s := NewScan(tr.Devices[0].Events)
	s.Look(tr.Tables, "free_completed")
	for !s.Done() {
		if cmd := s.Refresh(); cmd != nil {
			cmd().(interface{ Deliver() }).Deliver()
		}
	}
	hits := s.Hits()
	if want := count(t, "free_completed"); len(hits) != want || want == 0 {
		t.Fatalf("%d hits, want %d", len(hits), want)
	}
	for k, hit := range hits {
		if !s.Has(int(hit)) {
			t.Errorf("hit %d is not one", hit)
		}
		if k > 0 {
			if next, ok := s.After(int(hits[k-1])); !ok || next != int(hit) {
				t.Errorf("after %d comes %d, want %d", hits[k-1], next, hit)
			}
			if last, ok := s.Before(int(hit)); !ok || last != int(hits[k-1]) {
				t.Errorf("before %d comes %d, want %d", hit, last, hits[k-1])
			}
		}
	}
	s.Look(tr.Tables, "")
	if len(s.Hits()) != 0 || s.Query() != "" || !s.Done() {
		t.Error("an empty query still finds something")
	}
}
