package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestOnlyWhereCallsCouldBeSeenIsItSaidHow has a program of another kind than PyTorch,
// one whose calls are not seen, and one whose calls are.
func TestOnlyWhereCallsCouldBeSeenIsItSaidHow(t *testing.T) {
	for name, test := range map[string]struct {
		said  *trace.Card
		wants bool
	}{
		"no program of PyTorch": {nil, false},
		"calls are not seen":    {&trace.Card{}, true},
		"calls are seen":        {&trace.Card{Watched: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			run := liveRun(t)
			run.Live.Gauges[0].Card = test.said
			var text strings.Builder
			if err := NewLive(run).Text(&text, 100); err != nil {
				t.Fatal(err)
			}
			if said := strings.Contains(text.String(), "--driver-calls"); said != test.wants || !strings.Contains(text.String(), "Who has the device's memory") {
				t.Errorf("want a way: %v, got\n%s", test.wants, &text)
			}
		})
	}
}

// TestAFileSaysWhoHadTheDevice has the same ledger in the report of a file as of the
// program.
func TestAFileSaysWhoHadTheDevice(t *testing.T) {
	run := liveRun(t)
	run.Live.Gauges[0].Card = &trace.Card{Before: 100 << 10}
	want := NewLive(run).Card
	r := New(run)
	if diff := cmp.Diff(want, r.Devices[0].Card, cmp.AllowUnexported(Card{})); diff != "" || want == nil {
		t.Errorf("(-live +file):\n%s", diff)
	}
	var text strings.Builder
	if err := r.Text(&text, 100); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"  Who has the device's memory, 1.0 MiB\n", "  PyTorch                      256.5 KiB  25%  "} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("no %q in\n%s", line, &text)
		}
	}
}
