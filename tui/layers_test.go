package tui

import (
	"slices"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"
)

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
