package main

import (
	"testing"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestAChangeIsMeasuredOnTheDeviceOfMeasuredSteps has steps that were not looked at after those that were, as they come
// in one batch. They name the first device, and the program's memory is on the second.
func TestAChangeIsMeasuredOnTheDeviceOfMeasuredSteps(t *testing.T) {
	recorded := &trace.Trace{Live: &trace.Live{Changes: []trace.Change{{ID: 1, Key: "amp", From: "off", To: "bf16", State: trace.Applied, Step: 12}}}}
	for number := int64(1); number <= 30; number++ {
		value := "off"
		if number >= 12 {
			value = "bf16"
		}
		settings := []trace.Value{{Key: "amp", Value: value}}
		recorded.Steps = append(recorded.Steps,
			trace.Step{Number: number, Device: 1, Duration: 1e6, Allocated: 1, PeakAllocated: 100 - number, PeakReserved: 100, Settings: settings})
	}
	recorded.Steps = append(recorded.Steps, trace.Step{Number: 31, Device: 0, Duration: 1e6, Settings: recorded.Steps[29].Settings})
	found := analysis.Experiments(recorded, deviceOf(recorded))
	if len(found) != 1 || !found[0].Done() {
		t.Errorf("it found %+v on device %d", found, deviceOf(recorded))
	}
}
