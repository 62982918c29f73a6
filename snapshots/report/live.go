package report

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
)

// LiveSchema names the version of a live report's JSON form.
const LiveSchema = "memtop.live/1"

// Live is the state of a running program. `memtop attach --once` prints it. All
// sizes are bytes. A value that the program has not sent yet is null, and has no
// row in the waterfall.
type Live struct {
	Schema string `json:"schema"`
	*Place
	PID                int               `json:"pid"`
	Step               int64             `json:"step"`
	Settings           map[string]string `json:"settings"`
	BehindSteps        *int64            `json:"behind_steps"` // how much older what memory is for, its layers and its tensors are than the step and the bytes beside it
	AllocatedBytes     *int64            `json:"allocated_bytes"`
	ReservedBytes      *int64            `json:"reserved_bytes"`
	PeakAllocatedBytes *int64            `json:"peak_allocated_bytes"` // in the last step that was measured
	PeakReservedBytes  *int64            `json:"peak_reserved_bytes"`
	Highest            *Highest          `json:"highest"` // at any moment
	Looking            bool              `json:"looking"` // no whole step was measured yet, so what memory is for is not known
	Categories         *Categories       `json:"categories"`
	CategoriesAtPeak   *Categories       `json:"categories_at_peak"`
	Waterfall          []analysis.Row    `json:"waterfall"`               // sums to the device's used memory
	HostBytes          *Categories       `json:"host_bytes"`              // kept on the host instead, at the maximum of the last step
	ToHostBytes        int64             `json:"to_host_bytes,omitempty"` // copied in the last step; missing if not known
	FromHostBytes      int64             `json:"from_host_bytes,omitempty"`
	Host               *Host             `json:"host"` // all that the program has of the machine's memory, null if it does not say
	Card               *Card             `json:"card"` // who has the device's memory, null if the driver was not asked
	Layers             []Layer           `json:"layers"`
	Tensors            []Tensor          `json:"tensors"` // the largest first
	Leaks              []trace.Learnt    `json:"leaks"`   // sites that are not steady, the most alarming first after those that earlier viewers learnt of
	Gauges             *Gauges           `json:"gauges"`  // of the same moment as the rest; null when the driver was not asked
	Probe              Probe             `json:"probe"`
	Findings           []Finding         `json:"findings"` // the most severe first
	index              *analysis.Index
	row                ranks.Row
}

// Highest has the highest values at any moment: since the program began, as its
// allocator says, or only since the first known event.
type Highest struct {
	AllocatedBytes int64  `json:"allocated_bytes"`
	ReservedBytes  int64  `json:"reserved_bytes"`
	Since          string `json:"since"` // "program" or "watched"
}

// Layer is a layer in the last step: a trace.Layer, with every key.
type Layer struct {
	Name               string `json:"name"`
	Class              string `json:"class"`
	OutputShape        string `json:"output_shape"`
	DType              string `json:"dtype"`
	ParameterBytes     int64  `json:"parameter_bytes"`
	OutputBytes        int64  `json:"output_bytes"`
	SavedBytes         int64  `json:"saved_bytes"`
	TransientPeakBytes *int64 `json:"transient_peak_bytes"` // null for a program that does not measure it
	ForwardNS          int64  `json:"forward_ns"`
	BackwardNS         int64  `json:"backward_ns"`
	RecomputeNS        int64  `json:"recompute_ns"`
	Calls              int    `json:"calls"`
	Checkpointed       bool   `json:"checkpointed"`
	OnHost             bool   `json:"on_host"` // it computes on the device's host
}

// Tensor is a live allocation. Its age is −1 if no steps are known.
type Tensor struct {
	Name     string   `json:"name"`
	Category string   `json:"category"`
	Shape    string   `json:"shape"`
	DType    string   `json:"dtype"`
	Bytes    int64    `json:"bytes"`
	AgeSteps int64    `json:"age_steps"`
	Layer    string   `json:"layer"`
	Site     string   `json:"site"`
	Stack    []string `json:"stack"` // innermost first
}

// Gauges are the driver's numbers about the device. A missing number is null.
type Gauges struct {
	DeviceTotalBytes   *int64 `json:"device_total_bytes"`
	DeviceUsedBytes    *int64 `json:"device_used_bytes"`
	ProcessBytes       *int64 `json:"process_bytes"`
	OtherBytes         *int64 `json:"other_bytes"`
	UtilisationPercent *int64 `json:"utilisation_percent"`
	TemperatureCelsius *int64 `json:"temperature_celsius"`
	PowerMilliwatts    *int64 `json:"power_milliwatts"`
}

// Probe is the cost of watching.
type Probe struct {
	CostNSPerStep *int64 `json:"cost_ns_per_step"`
	DroppedEvents int64  `json:"dropped_events"`
}

// NewLive reports the state at the end of a trace: of the device of its last
// step, else of the first device.
func NewLive(t *trace.Trace) *Live { return LiveOf(lastIndex(t)) }

func lastIndex(t *trace.Trace) *analysis.Index {
	device := trace.Device{}
	if len(t.Devices) > 0 {
		device = t.Devices[0]
	}
	if len(t.Steps) > 0 {
		if d := t.Device(t.Steps[len(t.Steps)-1].Device); d != nil {
			device = *d
		}
	}
	return analysis.NewIndex(t, &device)
}

// LiveOf is NewLive for an existing index.
func LiveOf(x *analysis.Index) *Live {
	t, at := x.Trace(), x.End()
	r := measured(x)
	r.Gauges, r.Findings, r.Host, r.Card = liveGauges(x.GaugeAt(at)), findings(x, x.Findings()), newHost(x), newCard(x)
	r.addLayers(analysis.Layers(t, 0))
	r.Tensors = liveTensors(x, at)
	r.addLeaks()
	return r
}

// measured has what the last step and the counters say.
func measured(x *analysis.Index) *Live {
	t := x.Trace()
	r := &Live{Schema: LiveSchema, Waterfall: make([]analysis.Row, 0), Layers: make([]Layer, 0), index: x, row: ranks.Of(x)}
	if t.Live != nil {
		r.PID, r.Probe.DroppedEvents, r.Looking = t.Live.PID, t.Live.Dropped, t.Live.Looking
	}
	r.addStep(t.LastStep(x.Device().ID))
	r.addMemory(x.End())
	return r
}

// Index returns the index that the report was made from.
func (r *Live) Index() *analysis.Index { return r.index }
