package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"
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

// TestLayersSayWhereTheyCompute shows a step with a layer on the host, and one without.
func TestLayersSayWhereTheyCompute(t *testing.T) {
	recorded := *tuitest.NewProcess(20).Trace()
	recorded.Steps = slices.Clone(recorded.Steps)
	last := &recorded.Steps[len(recorded.Steps)-1]
	last.Layers = slices.Clone(last.Layers)
	last.Layers[1].OnHost = true
	d := start(t, 80, 24, Options{Color: "never", Device: -1}, fileOf("run.mtr", &recorded))
	d.shows("2 down", " on  |  host  | computed by the host")
	d.shows("down", "!computed by the host")
	d.press("4")
	for range 40 {
		d.press("left")
	}
	d.shows("2", "! host ")
}

func TestASeldomScreenSaysHowOften(t *testing.T) {
	d, _ := startLiveWith(t, 80, 24, 3, Options{Color: "never", Device: -1, Interval: 2500 * time.Millisecond})
	d.wants("live, every 2.5 s")
}

func TestLayersThatWereTimedOnTheProcessorSaySo(t *testing.T) {
	recording := tuitest.Recording()
	last := &recording.Steps[len(recording.Steps)-1]
	d := start(t, 120, 40, Options{Color: "never", Device: -1}, fileOf("run.mtr", recording))
	d.shows("2", "times | !of the processor")
	last.Settings = append(last.Settings, trace.Value{Key: "layer_times", Value: "processor"})
	d = start(t, 120, 40, Options{Color: "never", Device: -1}, fileOf("run.mtr", recording))
	d.shows("2", ", of the processor, not the device")
}

// uncached is a run on a device without a caching allocator.
const uncached = `
settings
setting "allocator" "none"
device 0
alloc 0x1001 1000 @1
alloc 0x2003 500 @2
free 0x1001 1000 @3
segment 0x2003 500
block 0x2003 500 active_allocated requested=500
`

func TestPagesSayThatThereIsNoCachingAllocator(t *testing.T) {
	d := start(t, 200, 60, Options{Color: "never"}, fileOf("cpu.mtr", tracetest.Parse(t, uncached)))
	for name, keys := range map[string][]string{
		"overview": {"1"}, "segments": {"5"}, "events": {"7", "G"},
	} {
		d.press(keys...)
		text := strings.Join(strings.Fields(d.screen()), " ")
		if !strings.Contains(text, "no caching allocator") {
			t.Errorf("%s does not say so:\n%s", name, d.screen())
		}
		for _, word := range []string{"0 segments", "cached free", "rounding 0 B"} {
			if strings.Contains(text, word) {
				t.Errorf("%s says %q:\n%s", name, word, d.screen())
			}
		}
	}
	d.press("5", "enter", "c", "b", "j", "y", "/", "x", "enter", "esc", "w")
	if !strings.Contains(d.screen(), "no caching allocator") {
		t.Errorf("the replay of other settings does not say so:\n%s", d.screen())
	}
}

// TestBothLedgersAreOnOneScreen shows a program that says what it has of the
// device's memory and of the machine's.
func TestBothLedgersAreOnOneScreen(t *testing.T) {
	const mib = 1 << 20
	told := *recording()
	live := *told.Live
	live.Gauges = append(slices.Clone(live.Gauges), trace.Gauge{
		Device: trace.HostDevice, Time: live.Gauges[len(live.Gauges)-1].Time, Total: 4096 * mib, Used: 1000 * mib, Limit: 1024 * mib, LimitUsed: 800 * mib,
		Host: &trace.Host{
			Anonymous: 500 * mib, Python: 60 * mib, Malloc: 250 * mib, Group: 900 * mib, GroupAnonymous: 600 * mib, GroupFiles: 280 * mib,
			GroupKernel: 19 * mib, Workers: 2, CostNS: 12_000_000,
		},
	})
	for i := range live.Gauges {
		if g := &live.Gauges[i]; g.Device != trace.HostDevice {
			withCard(g, told.Devices[0].Final.Segments)
		}
	}
	told.Live = &live
	for name, size := range map[string][2]int{"small": {80, 24}, "large": {200, 60}} {
		t.Run(name, func(t *testing.T) {
			d := start(t, size[0], size[1], Options{Color: "never", Device: -1}, fileOf("run.mtr", &told))
			d.press("$")
			golden(t, name, d.screen())
		})
	}
}

// withCard gives a gauge a ledger of a device whose allocator has segments.
func withCard(g *trace.Gauge, segments []trace.Segment) {
	const mib = 1 << 20
	reserved := int64(0)
	for i := range segments {
		reserved += segments[i].Size
	}
	g.Total, g.Used, g.Process, g.Others = 16<<30, reserved+1000*mib, reserved+700*mib, 260*mib
	g.Users = []trace.User{{PID: 4711, Bytes: 260 * mib, Command: "python server.py"}}
	g.Card = &trace.Card{
		Cache:    &trace.CacheUse{Server: trace.VLLM, Used: 812, Size: 2047, Unit: "blocks"},
		Reserved: reserved, Watched: true, Before: 710 * mib, Communicators: []trace.Communicator{{Name: "0", Ranks: 8, Channels: 2, Connection: 14 * mib}},
		Taken: []trace.Taken{
			{Library: "libc10_cuda.so", Kind: trace.TakenDevice, Bytes: reserved},
			{Library: "libcublasLt.so.13", Kind: trace.TakenDevice, Bytes: 33 * mib, Round: mib, Number: 5},
		},
	}
}
