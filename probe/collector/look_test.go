package collector

import (
	"context"
	"errors"
	"testing"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// onGPU returns a program that does not look at its two devices itself.
func onGPU(pid int) attach.Process {
	p := program(pid, 2)
	p.Info.Gauges = nil
	return p
}

func totals(found []attach.Process) (totals []int64) {
	for _, p := range found {
		for _, g := range p.Info.Gauges {
			totals = append(totals, g.Total)
		}
	}
	return totals
}

func TestDevicesThatNoProgramLooksAtAreLookedAt(t *testing.T) {
	own, gpu, down := program(1, 1), onGPU(2), attach.Process{Socket: "/s/3-1.sock", Problem: errors.New("off")}
	c := New(func(p attach.Process, devices []int) ([]trace.Gauge, error) {
		if p.PID != 2 || len(devices) != 2 {
			t.Errorf("it looks at %v of process %d", devices, p.PID)
		}
		return []trace.Gauge{{Device: 1, Total: 7, Process: -1}}, errors.New("device 0 is unknown")
	})
	samples := written(t, c.families([]attach.Process{own, gpu}))
	if _, ok := samples[`memtop_device_total_bytes{command="memtrain",device="1",pid="2",user="alice"}`]; ok {
		t.Error("the device has a gauge before it was looked at")
	}
	found := []attach.Process{own, gpu, down}
	c.addGauges(t.Context(), found)
	samples = written(t, c.families(found))
	for device, want := range map[string]float64{
		`command="memtrain",device="1",pid="2"`: 7,
		`command="memtrain",device="0",pid="1"`: 100,
	} {
		if got := samples[`memtop_device_total_bytes{`+device+`,user="alice"}`]; got != want {
			t.Errorf("%s has %v bytes, want %v", device, got, want)
		}
	}
}

// TestALookThatTakesLongHoldsUpNoScrape has one that is not over before the scrape is:
// the next scrape waits for the same look.
func TestALookThatTakesLongHoldsUpNoScrape(t *testing.T) {
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	c := New(func(attach.Process, []int) ([]trace.Gauge, error) {
		begun <- struct{}{}
		<-goOn
		return []trace.Gauge{{Device: 0, Total: 7}}, nil
	})
	over, end := context.WithCancel(t.Context())
	found := []attach.Process{onGPU(1)}
	go func() { <-begun; end() }()
	c.addGauges(over, found)
	if len(totals(found)) != 0 {
		t.Errorf("gauges are there before the look is over: %v", totals(found))
	}
	close(goOn)
	again := []attach.Process{onGPU(1)}
	c.addGauges(t.Context(), again)
	if got := totals(again); len(got) != 1 || got[0] != 7 {
		t.Errorf("the next scrape has %v", got)
	}
	if len(begun) > 0 {
		t.Error("it looked twice")
	}
}
