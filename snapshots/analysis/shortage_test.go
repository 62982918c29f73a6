package analysis

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShortages(t *testing.T) {
	tests := map[string]struct {
		trace string
		want  []Shortage
	}{
		"no device": {"device 0\nalloc 0x100 512 @1\n", nil},
		"the last event of a device counts": {
			"device 0\noom 0 1024 @5\nalloc 0x100 512 @6\noom 0 1024 @7\nalloc 0x300 512 @8\n",
			[]Shortage{{0, 2, 5}},
		},
		"the first in time is first": {
			"device 0\noom 0 1024 @9\ndevice 1\nalloc 0x100 512 @1\ndevice 2\noom 0 1024 @3\noom 0 1024 @20\n",
			[]Shortage{{2, 1, 3}, {0, 0, 9}},
		},
		"without times they stay in order, after those with": {
			"device 0\noom 0 1024\ndevice 1\noom 0 1024\ndevice 2\noom 0 1024 @3\n",
			[]Shortage{{2, 0, 3}, {0, 0, -1}, {1, 0, -1}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Shortages(parse(t, test.trace)), cmp.AllowUnexported(Shortage{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheReportBeginsWithTheDeviceThatRanOut has a busy device before and after
// it, and one that ran out later.
func TestTheReportBeginsWithTheDeviceThatRanOut(t *testing.T) {
	busy := strings.Repeat("alloc 0x100 512 @1\nfree_completed 0x100 512 @2\n", 20)
	r := NewReport(parse(t, "device 0\n"+busy+"device 1\noom 0 1024 @9\ndevice 2\noom 0 512 @3\nalloc 0x100 512 @4\noom 0 2048 @5\ndevice 3\n"+busy))
	var text strings.Builder
	if err := r.Text(&text, 100); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "Device ") || strings.HasPrefix(line, "  X ") {
			got = append(got, line[:min(len(line), 29)])
		}
	}
	want := []string{
		"Device 2: 3 events, 0 segment", "  X Out of memory at event 2:", "  X Out of memory at event 0:",
		"Device 1: 1 event, 0 segments", "  X Out of memory at event 0:", "Device 0: 40 events, 0 segmen", "Device 3: 40 events, 0 segmen",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range r.Devices {
		if r.Devices[i].Device != i {
			t.Errorf("device %d stands at %d in JSON", r.Devices[i].Device, i)
		}
	}
}

// TestTheLastOfManyFailuresIsLookedInto has more than are judged in advance.
func TestTheLastOfManyFailuresIsLookedInto(t *testing.T) {
	x := indexOf(t, "device 0\n"+strings.Repeat("oom 0 1048576\n", judgedOOMs+10))
	first := x.Findings()[0]
	if first.Event != judgedOOMs+9 || strings.Contains(first.Text, NotJudged.String()) {
		t.Errorf("the first finding is about event %d: %s", first.Event, first.Text)
	}
	if more := x.Findings()[3]; more.Event != 2 || more.Text != "71 more requests ran out of memory." {
		t.Errorf("the rest is %q, from event %d", more.Text, more.Event)
	}
}
