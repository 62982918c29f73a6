package analysis

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

func TestSettingChangesAreTheEventsThatSaySo(t *testing.T) {
	s := randomStream(1)
	moments := s.moments()
	tr, d := s.after(moments[len(moments)-1])
	x := NewIndex(tr, d)
	var want []int
	for i := range d.Events.Len() {
		if d.Events.At(i).Kind == trace.SettingChanged {
			want = append(want, i)
		}
	}
	if len(want) < 3 {
		t.Fatalf("the stream has %d: the test is about nothing", len(want))
	}
	for from := range d.Events.Len() + 1 {
		for len(want) > 0 && want[0] < from {
			want = want[1:]
		}
		if got := x.SettingChanges(from); !slices.Equal(got, want) {
			t.Fatalf("from event %d on: %v, want %v", from, got, want)
		}
	}
}
