package wire

import (
	"testing"

	"memtop/snapshots/trace"
)

func TestStepsForgetTheLayersOfTheOldest(t *testing.T) {
	var s steps
	const many, layers = 4000, 300
	var early []trace.Step
	for n := range int64(many) {
		s.add(trace.Step{Number: n + 1, Layers: make([]trace.Layer, layers)})
		if n == 99 {
			early = s.list()
		}
	}
	got := s.list()
	if len(got) != many {
		t.Fatalf("%d steps are kept, want all %d", len(got), many)
	}
	kept := 0
	for i := range got {
		if got[i].Layers != nil {
			kept++
		} else if kept > 0 {
			t.Fatalf("step %d has no layers, and one before it has", got[i].Number)
		}
	}
	if bytes := kept * layers * layerBytes; bytes > layersKeptBytes || bytes < layersKeptBytes/2-layers*layerBytes {
		t.Errorf("the layers of %d steps are kept", kept)
	}
	if len(early) != 100 || early[0].Layers == nil {
		t.Error("a list handed out before has changed")
	}
}

func TestStepsForgetTheOldest(t *testing.T) {
	var s steps
	for n := range int64(stepsKept + 10) {
		s.add(trace.Step{Number: n + 1})
	}
	got := s.list()
	if n := len(got); n > stepsKept || n < stepsKept/2 || got[n-1].Number != stepsKept+10 {
		t.Errorf("%d steps are kept up to %d", n, got[n-1].Number)
	}
}
