package protocol

import (
	"slices"
	"strconv"
	"time"

	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/snapshots/trace"
)

// measure is a family of metrics and the source of its samples.
type measure struct {
	name string
	kind exposition.Kind
	unit string
	help string
	of   samples
}

// measures are all metrics of a program, in the order of output.
var measures = []measure{
	{
		"memtop_allocated_bytes", exposition.Gauge, "bytes", "Bytes of blocks in use.",
		ofMemory(func(d *DeviceInfo) *int64 { return &d.Allocated }),
	},
	{
		"memtop_requested_bytes", exposition.Gauge, "bytes", "Bytes that the program asked for and has not freed.",
		ofMemory(func(d *DeviceInfo) *int64 { return d.Requested }),
	},
	{
		"memtop_reserved_bytes", exposition.Gauge, "bytes", "Bytes held from the driver.",
		ofMemory(func(d *DeviceInfo) *int64 { return &d.Reserved }),
	},
	{
		"memtop_events", exposition.Counter, "", "Events of the allocator.",
		ofDevices(func(d *DeviceInfo) *int64 { return &d.Events }),
	},
	{
		"memtop_out_of_memory", exposition.Counter, "", "Requests for which there was no memory.",
		ofDevices(func(d *DeviceInfo) *int64 { return d.OutOfMemory }),
	},
	{
		"memtop_ranks", exposition.Gauge, "", "Programs that the program's launcher started together.",
		ofRank(func(r *trace.Rank) float64 { return float64(r.World) }),
	},
	{
		"memtop_step", exposition.Gauge, "", "Number of the last training step.",
		ofStep(func(i *Info) float64 { return float64(i.Step) }),
	},
	{
		"memtop_step_duration_seconds", exposition.Gauge, "seconds", "How long the last step took.",
		ofStep(func(i *Info) float64 { return seconds(i.LastStep.Duration) }),
	},
	{
		"memtop_step_loss", exposition.Gauge, "", "Loss of the last step.",
		ofLoss,
	},
	{
		"memtop_step_allocated_bytes", exposition.Gauge, "bytes", "Bytes in use right after the last step.",
		ofStepsEnd,
	},
	{
		"memtop_step_peak_allocated_bytes", exposition.Gauge, "bytes", "Most bytes in use within the last step.",
		ofStepsDevice(func(s *LastStep) int64 { return s.PeakAllocated }),
	},
	{
		"memtop_step_peak_reserved_bytes", exposition.Gauge, "bytes", "Most bytes held from the driver within the last step.",
		ofStepsDevice(func(s *LastStep) int64 { return s.PeakReserved }),
	},
	{
		"memtop_category_bytes", exposition.Gauge, "bytes", "Requested bytes by purpose after the last step.",
		ofCategories,
	},
	{
		"memtop_probe_cost_seconds", exposition.Counter, "seconds", "Time for which reporting held up the program.",
		ofProgram(func(i *Info) float64 { return seconds(i.ProbeNS) }),
	},
	{
		"memtop_probe_viewers_seconds", exposition.Counter, "seconds", "Time spent on viewers, beside the program where it has cores to spare.",
		ofProgram(func(i *Info) float64 { return seconds(i.ViewersNS) }),
	},
	{
		"memtop_probe_dropped_events", exposition.Counter, "", "Events that a viewer was too slow for.",
		ofProgram(func(i *Info) float64 { return float64(i.Dropped) }),
	},
	{
		"memtop_probe_dropped_steps", exposition.Counter, "", "Steps that a viewer was too slow for.",
		ofProgram(func(i *Info) float64 { return float64(i.DroppedSteps) }),
	},
	{
		"memtop_probe_viewers", exposition.Gauge, "", "Viewers that are watching.",
		ofProgram(func(i *Info) float64 { return float64(i.Viewers) }),
	},
	{
		"memtop_device_total_bytes", exposition.Gauge, "bytes", "Bytes of memory that the device has.",
		ofGauges(func(g *trace.Gauge) int64 { return g.Total }),
	},
	{
		"memtop_device_used_bytes", exposition.Gauge, "bytes", "Bytes of the device's memory that are in use, by any process.",
		ofGauges(func(g *trace.Gauge) int64 { return g.Used }),
	},
	{
		"memtop_device_process_bytes", exposition.Gauge, "bytes", "Bytes of the device's memory that the program uses.",
		ofGauges(func(g *trace.Gauge) int64 { return g.Process }),
	},
}

// samples passes each sample of a family to a function. An unknown number has
// none.
type samples = func(*Info, func(value float64, labels ...string))

func ofProgram(value func(*Info) float64) samples {
	return func(i *Info, sample func(float64, ...string)) { sample(value(i)) }
}

func ofRank(value func(*trace.Rank) float64) samples {
	return func(i *Info, sample func(float64, ...string)) {
		if i.Rank != nil {
			sample(value(i.Rank))
		}
	}
}

// ofMemory samples bytes of the devices whose memory the program knows.
func ofMemory(value func(*DeviceInfo) *int64) samples {
	return ofDevices(func(d *DeviceInfo) *int64 {
		if !d.IsKnown() {
			return nil
		}
		return value(d)
	})
}

func ofDevices(value func(*DeviceInfo) *int64) samples {
	return func(i *Info, sample func(float64, ...string)) {
		for j := range i.Devices {
			if v := value(&i.Devices[j]); v != nil {
				sample(float64(*v), "device", strconv.Itoa(i.Devices[j].Device))
			}
		}
	}
}

func ofStep(value func(*Info) float64) samples {
	return func(i *Info, sample func(float64, ...string)) {
		if i.LastStep != nil {
			sample(value(i))
		}
	}
}

// ofLoss samples the loss of the last step, if the program gives one.
func ofLoss(i *Info, sample func(float64, ...string)) {
	if s := i.LastStep; s != nil && s.Loss != nil {
		sample(float64(*s.Loss))
	}
}

// ofStepsDevice samples bytes of the last step. They are 0 if no step was measured.
func ofStepsDevice(value func(*LastStep) int64) samples {
	return func(i *Info, sample func(float64, ...string)) {
		if s := i.LastStep; s != nil && value(s) > 0 {
			sample(float64(value(s)), "device", strconv.Itoa(s.Device))
		}
	}
}

// ofStepsEnd samples the bytes allocated after a step. Older programs do not send
// them.
func ofStepsEnd(i *Info, sample func(float64, ...string)) {
	if s := i.LastStep; s != nil && s.Allocated > 0 {
		sample(float64(s.Allocated), "device", strconv.Itoa(s.Device))
	}
}

func ofCategories(i *Info, sample func(float64, ...string)) {
	if s := i.LastStep; s != nil {
		for _, a := range s.Categories {
			sample(float64(a.Bytes), "device", strconv.Itoa(s.Device), "category", a.Name)
		}
	}
}

func ofGauges(value func(*trace.Gauge) int64) samples {
	return func(i *Info, sample func(float64, ...string)) {
		for j := range i.Gauges {
			if v := value(&i.Gauges[j]); v >= 0 && i.Gauges[j].Device >= 0 { // else it is the machine's
				sample(float64(v), "device", strconv.Itoa(i.Gauges[j].Device))
			}
		}
	}
}

func seconds(ns int64) float64 { return float64(ns) / float64(time.Second) }

// Measured is a program with labels for each of its metrics: names and values in
// turn, before the metric's own labels.
type Measured struct {
	Labels []string
	Info   *Info
}

// Metrics returns the numbers of the programs as families of metrics.
func Metrics(all []Measured) []exposition.Family {
	families := make([]exposition.Family, len(measures))
	for i, m := range measures {
		families[i] = exposition.Family{Name: m.name, Kind: m.kind, Unit: m.unit, Help: m.help}
		for _, program := range all {
			m.of(program.Info, func(value float64, labels ...string) {
				families[i].Samples = append(families[i].Samples, exposition.Sample{
					Labels: slices.Concat(program.Labels, labels), Value: value,
				})
			})
		}
	}
	return families
}
