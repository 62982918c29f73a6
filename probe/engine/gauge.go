package engine

import (
	"time"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// gauge returns the function that reads a device's gauges. For a GPU there is
// none: the viewer asks the driver, and never the training program. For cpu:0 it
// measures as a driver would; no other process uses that device.
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

// reserved returns the reserved bytes and their time. The bytes are equal before
// and after reading the clock, so that they can be compared with events. If they
// change too often, it returns the last value.
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
