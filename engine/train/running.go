package train

import (
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// keepRunning copies the running statistics before a step, because a step that
// fails and is taken again must not count twice.
func (t *Trainer) keepRunning() {
	for _, p := range t.running {
		tag := tensor.Tag{Category: trace.Workspace, Role: "running statistics before the step"}
		t.before = append(t.before, tensor.Clone(p.Data(), tag))
	}
}

// dropRunning drops the copies. If the step is to be taken again, it first
// restores the statistics from them.
func (t *Trainer) dropRunning(again bool) {
	for i, x := range t.before {
		if again {
			t.running[i].Data().CopyFrom(x)
		}
		x.Release()
	}
	t.before = nil
}
