package analysis

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tracetest"

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
			equal.Values(t, "the result", test.want, Shortages(tracetest.Parse(t, test.trace)), cmp.AllowUnexported(Shortage{}))
		})
	}
}

// TestTheLastOfManyFailuresIsLookedInto has more than are judged in advance.
func TestTheLastOfManyFailuresIsLookedInto(t *testing.T) {
	x := indexOf(t, "device 0\n"+strings.Repeat("oom 0 1048576\n", judgedOOMs+10))
	first := x.Findings()[0]
	if first.Where.Event != judgedOOMs+9 || strings.Contains(first.Text(), NotJudged.String()) {
		t.Errorf("the first finding is about event %d: %s", first.Where.Event, first.Text())
	}
	if more := x.Findings()[3]; more.Where.Event != 2 || more.Text() != "71 more requests ran out of memory." {
		t.Errorf("the rest is %q, from event %d", more.Text(), more.Where.Event)
	}
}
