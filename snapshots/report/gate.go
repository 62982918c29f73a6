package report

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// GateSchema names the version of a gate's JSON form.
const GateSchema = "memtop.check/1"

// NoLimit is a limit that nothing exceeds.
const NoLimit = -1

// Limits are the limits of a gate, in bytes; NoLimit for none.
type Limits struct {
	Peak    int64 // highest level of requested memory
	PerStep int64 // by how much memory may grow from step to step
	Host    int64 // by how much the program's memory on the host may, with its workers'
}

// Gate is the check of a trace against limits. `memtop check` prints it. All
// sizes are bytes.
type Gate struct {
	Schema  string       `json:"schema"`
	OK      bool         `json:"ok"`
	Devices []GateDevice `json:"devices"`
}

// GateDevice is the check of one device. A limit that was not set is null, and so
// is growth on a device without steps.
type GateDevice struct {
	Device int         `json:"device"`
	Peak   *GatePeak   `json:"peak"`
	Growth *GateGrowth `json:"growth"`
	Host   *GateHost   `json:"host,omitempty"` // of the first device, if there is a limit
}

// GatePeak checks the highest level against its limit. It has sites only if it is
// exceeded.
type GatePeak struct {
	MeasuredPeak
	LimitBytes int64 `json:"limit_bytes"`
	Exceeded   bool  `json:"exceeded"`
}

// GateGrowth checks the growth per marked step against its limit. It has sites only
// if it is exceeded.
type GateGrowth struct {
	MeasuredGrowth
	LimitBytesPerStep int64 `json:"limit_bytes_per_step"`
	Exceeded          bool  `json:"exceeded"`
}

// GateSite is one call stack's part in a broken limit.
type GateSite struct {
	Bytes        int64    `json:"bytes"`
	Count        int      `json:"count"`
	BytesPerStep int64    `json:"bytes_per_step"`
	Frames       []string `json:"frames"` // innermost first
	telling      []string // the frames that tell most, nil if there are no others
}

// GateHost checks how the program's memory on the host grows.
type GateHost struct {
	MeasuredHost
	LimitBytesPerStep int64 `json:"limit_bytes_per_step"`
	Exceeded          bool  `json:"exceeded"`
}

// HostError says that a trace does not tell how memory of the host grows.
type HostError struct{}

// Error says what is missing.
func (HostError) Error() string {
	return "it does not say how its memory on the host grows: that takes a program with memtop's agent, and 16 of its looks"
}

// StepsError says that a trace marks too few steps to measure growth by. Steps that
// are inferred do not count: they may be the layers of one pass.
type StepsError struct{ Steps int }

// Error says how many steps there are and how many are needed.
func (e *StepsError) Error() string {
	switch {
	case e.Steps == 0:
		return "the program marks no steps, so growth per step cannot be checked"
	case e.Steps < analysis.GrowthSteps:
		return fmt.Sprintf("only %s, and growth takes %d", quantity.Plural(e.Steps, "step"), analysis.GrowthSteps)
	default:
		return "too few of the steps have events"
	}
}

// NewGate checks every device of a trace against the limits. With a limit on
// growth it returns a [*StepsError] when no device marks enough steps, or a [HostError]:
// a gate that cannot measure must not pass.
func NewGate(t *trace.Trace, limits Limits) (*Gate, error) {
	devices := make([]gauged, len(t.Devices))
	for i := range t.Devices {
		x := analysis.NewIndex(t, &t.Devices[i])
		devices[i] = gauged{x.Device().ID, measuresOf(x, i, limits, x.Frames)}
	}
	return gateOf(devices, limits)
}

// gauged is a device with what its limits are held against.
type gauged struct {
	device int
	Measures
}

func gateOf(devices []gauged, limits Limits) (*Gate, error) {
	g := &Gate{Schema: GateSchema, OK: true, Devices: make([]GateDevice, len(devices))}
	steps, measured := 0, false
	for i := range devices {
		from, d := &devices[i], &g.Devices[i]
		d.Device = from.device
		if m := from.Peak; m != nil && limits.Peak >= 0 {
			d.Peak = &GatePeak{*m, limits.Peak, m.RequestedBytes > limits.Peak}
			d.Peak.Sites = g.hold(d.Peak.Exceeded, m.Sites)
		}
		steps = max(steps, from.StepsMarked)
		if m := from.Growth; m != nil && limits.PerStep >= 0 {
			d.Growth, measured = &GateGrowth{*m, limits.PerStep, m.BytesPerStep > limits.PerStep}, true
			d.Growth.Sites = g.hold(d.Growth.Exceeded, m.Sites)
		}
	}
	if limits.PerStep >= 0 && !measured {
		return nil, &StepsError{steps}
	}
	if limits.Host >= 0 {
		if len(devices) == 0 || devices[0].Host == nil {
			return nil, HostError{}
		}
		m := devices[0].Host
		g.Devices[0].Host = &GateHost{*m, limits.Host, m.BytesPerStep > limits.Host}
		g.OK = g.OK && m.BytesPerStep <= limits.Host
	}
	return g, nil
}

// hold notes whether a limit is exceeded, and returns the sites if so.
func (g *Gate) hold(exceeded bool, sites []GateSite) []GateSite {
	if !exceeded {
		return make([]GateSite, 0)
	}
	g.OK = false
	return sites
}
