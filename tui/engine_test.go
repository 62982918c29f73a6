package tui

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
)

// engineTrace is what our own engine writes: steps with numbers, and tensors
// that say what they are.
const engineTrace = `memtop-trace 1
frame linear "engine/nn/linear.go" 37 "memtop/engine/nn.(*Linear).Forward"
frame runtime "runtime/asm.s" 1771 "runtime.goexit"
stack here linear runtime
note scratch category="workspace" role="linear output" layer="h.0.mlp.fc" shape="[8, 128]" dtype="float32"
note kept category="activation" role="linear output of h.0.mlp.fc" layer="h.0.mlp.gelu" shape="[8, 128]" dtype="float32"
device 0
segment_alloc 0x10000000 2097152
step_begin 0x0 7
alloc 0x10000000 4096 stack=here note=scratch
retag 0x10000000 4096 stack=here note=kept
alloc 0x10001000 4096 stack=here note=scratch
step_end 0x0 7
segment 0x10000000 2097152 stream=0 type="small"
block 0x10000000 4096 active_allocated requested=4096 stack=here note=kept
block 0x10001000 4096 active_allocated requested=4096 stack=here note=scratch
block 0x10002000 2088960 inactive
`

func startEngine(t *testing.T, w, h int) *driver {
	t.Helper()
	made := tracetest.Parse(t, engineTrace)
	return start(t, w, h, Options{Color: "never"}, fileOf("engine.pickle", made))
}

func TestAnAllocationSaysWhichTensorItIs(t *testing.T) {
	d := startEngine(t, 80, 24)
	d.press("7", "g", "down", "down", "down")
	d.wants("event 2  alloc", "used for   workspace: linear output", "layer      h.0.mlp.fc", "tensor     [8, 128] float32",
		"linear output  linear.go:37")
	d.shows("down", "event 3  retag | used for   activation: linear output of h.0.mlp.fc | layer      h.0.mlp.gelu")
}

func TestAStepHasANumberAndNoSize(t *testing.T) {
	d := startEngine(t, 80, 24)
	d.shows("7 g down down", "event 1  step_begin  number 7")
	for _, text := range []string{"7 B", "no frames were recorded", "0x0"} {
		d.lacks(text)
	}
	d.shows("4", "step 7")
}

func TestABlockIsUsedForWhatItWasThen(t *testing.T) {
	d := startEngine(t, 80, 24)
	d.shows("7 g down down down 5 enter", "used for   workspace: linear output | h.0.mlp.fc")
	d.shows("7 down 5", "used for   activation: linear output of h.0.mlp.fc")
}
