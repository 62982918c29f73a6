package report

import (
	"strings"
	"testing"

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
