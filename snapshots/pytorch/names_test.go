package pytorch

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

func TestNamesAreNumberedAsTheMachineInternsThem(t *testing.T) {
	in := trace.NewInterner()
	internNames(in)
	for n, text := range names {
		if got := nameOf(in.String(text)); text == "" || got != name(n) {
			t.Errorf("name %d %q is interned as %d", n, text, got)
		}
	}
	for k := range trace.KindCount {
		kind := trace.Kind(k)
		if got := kindOf(in.String(kind.String())); got != kind {
			t.Errorf("the action %q is read as %q", kind, got)
		}
	}
	if got := kindOf(in.String("segment_frobnicate")); got != trace.Other {
		t.Errorf("an unknown action is read as %q", got)
	}
}
