package engine

import (
	"time"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// gauge returns who looks at a device from outside. A GPU is looked at by the
// viewer, through the driver, and never by the program that trains on it. cpu:0 is
// measured as a driver measures its device: no other process uses it.
func gauge(d *tensor.Device) func() []trace.Gauge {
	machine, isCPU := d.Backend().(*cpu.Device)
	if !isCPU {
		return nil
	}
	_, total := machine.MemInfo()
	return func() []trace.Gauge {
		used, at := reserved(d.Memory())
		return []trace.Gauge{{
			Device: d.Memory().Device(), Time: at.UnixMicro(),
			Total: total, Used: used, Process: used, Others: 0,
			Utilisation: -1, Temperature: -1, Power: -1,
		}}
	}
}

// reserved returns what is reserved and when it was: the same before and after
// the clock was read, so that it can be compared with events. A program that
// gives it no peace gets the last that was seen.
func reserved(a *alloc.Allocator) (bytes int64, at time.Time) {
	const tries = 8
	for range tries {
		stats := a.Stats()
		bytes, at = stats.Reserved(), time.Now()
		if stats = a.Stats(); stats.Reserved() == bytes {
			break
		}
	}
	return bytes, at
}
