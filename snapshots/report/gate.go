package report

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/iteration"
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
	index  *analysis.Index
}

// GatePeak checks the highest level against its limit.
type GatePeak struct {
	RequestedBytes int64      `json:"requested_bytes"`
	Event          int        `json:"event"`
	LimitBytes     int64      `json:"limit_bytes"`
	Exceeded       bool       `json:"exceeded"`
	Sites          []GateSite `json:"sites"` // what was live then, the largest first; none when within the limit
}

// GateGrowth checks the growth per marked step against its limit. The growth is the sum
// over the growing sites, or the rise of the level in every step if that is more.
type GateGrowth struct {
	BytesPerStep      int64      `json:"bytes_per_step"`
	Steps             int        `json:"steps"`         // over which it was measured
	Inferred          string     `json:"inferred_from"` // always "": inferred steps do not count
	LimitBytesPerStep int64      `json:"limit_bytes_per_step"`
	Exceeded          bool       `json:"exceeded"`
	Sites             []GateSite `json:"sites"` // the fastest first; none when within the limit
}

// GateSite is one call stack's part in a broken limit.
type GateSite struct {
	Bytes        int64    `json:"bytes"`
	Count        int      `json:"count"`
	BytesPerStep int64    `json:"bytes_per_step"`
	Frames       []string `json:"frames"` // innermost first
	holder       analysis.Holder
}

// GateHost checks how the program's memory on the host grows per step, with that of its
// workers, and without what the kernel can drop.
type GateHost struct {
	BytesPerStep      int64      `json:"bytes_per_step"`
	Steps             int64      `json:"steps"` // over which it was measured
	LimitBytesPerStep int64      `json:"limit_bytes_per_step"`
	Exceeded          bool       `json:"exceeded"`
	Leaks             []HostLeak `json:"leaks"`
}

// HostError says that a trace does not tell how memory of the host grows.
type HostError struct{}

// Error says what is missing.
func (HostError) Error() string {
	return "it does not say how its memory on the host grows: that takes a program with memtop's agent, and 16 of its looks"
}

// gateSites is how many sites a broken limit lists.
const gateSites = 5

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
	g := &Gate{Schema: GateSchema, OK: true, Devices: make([]GateDevice, len(t.Devices))}
	steps, measured := 0, false
	for i := range t.Devices {
		x := analysis.NewIndex(t, &t.Devices[i])
		d := &g.Devices[i]
		d.Device, d.index = x.Device().ID, x
		if limits.Peak >= 0 {
			d.Peak = gatePeak(x, limits.Peak)
			g.OK = g.OK && !d.Peak.Exceeded
		}
		if limits.PerStep >= 0 && x.StepsInferred() == iteration.None {
			steps = max(steps, len(x.Steps()))
			if d.Growth = gateGrowth(x, limits.PerStep); d.Growth != nil {
				measured = true
				g.OK = g.OK && !d.Growth.Exceeded
			}
		}
	}
	if limits.PerStep >= 0 && !measured {
		return nil, &StepsError{steps}
	}
	if limits.Host >= 0 {
		if len(g.Devices) == 0 {
			return nil, HostError{}
		}
		if g.Devices[0].Host = gateHost(g.Devices[0].index, limits.Host); g.Devices[0].Host == nil {
			return nil, HostError{}
		}
		g.OK = g.OK && !g.Devices[0].Host.Exceeded
	}
	return g, nil
}

// gateHost returns nil when the trace does not tell.
func gateHost(x *analysis.Index, limit int64) *GateHost {
	bytes, steps := x.HostPerStep()
	if steps == 0 {
		return nil
	}
	return &GateHost{bytes, steps, limit, bytes > limit, hostLeaks(x)}
}

func gatePeak(x *analysis.Index, limit int64) *GatePeak {
	s := x.Summary()
	p := &GatePeak{
		RequestedBytes: s.PeakRequested, Event: s.PeakEvent, LimitBytes: limit,
		Exceeded: s.PeakRequested > limit, Sites: make([]GateSite, 0),
	}
	if p.Exceeded {
		holders, _ := x.AtPeak()
		for _, h := range holders[:min(len(holders), gateSites)] {
			p.Sites = append(p.Sites, gateSite(x, h, 0))
		}
	}
	return p
}

// gateGrowth returns nil when the device marks too few steps.
func gateGrowth(x *analysis.Index, limit int64) *GateGrowth {
	moments, grown := x.StepGrowth()
	if moments == nil {
		return nil
	}
	g := &GateGrowth{Steps: len(moments) - 1, LimitBytesPerStep: limit, Sites: make([]GateSite, 0)}
	g.BytesPerStep = x.PerStep(moments, grown)
	g.Exceeded = g.BytesPerStep > limit
	if g.Exceeded {
		for _, growth := range grown[:min(len(grown), gateSites)] {
			h := analysis.Holder{Stack: growth.Stack, Bytes: growth.Bytes, Count: growth.Count}
			g.Sites = append(g.Sites, gateSite(x, h, growth.PerStep))
		}
	}
	return g
}

func gateSite(x *analysis.Index, h analysis.Holder, perStep int64) GateSite {
	return GateSite{Bytes: h.Bytes, Count: h.Count, BytesPerStep: perStep, Frames: x.Frames(h.Stack), holder: h}
}
