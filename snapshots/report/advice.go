package report

import (
	"cmp"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/trace"
)

// AdviceSchema names the version of the JSON form of advice.
const AdviceSchema = "memtop.advice/1"

// Advice lists changes that would reduce memory, the best first. `memtop advise`
// prints it. All sizes are bytes.
type Advice struct {
	Schema string `json:"schema"`
	PID    int    `json:"pid,omitempty"`  // of a running program
	Path   string `json:"path,omitempty"` // of a file
	Step   int64  `json:"step,omitempty"`
	// Settings, PeakAllocated and StepTime are those of the last step.
	Settings      map[string]string `json:"settings,omitempty"`
	PeakAllocated int64             `json:"peak_allocated_bytes"`
	// Devices are those of a file, whose savings add up to nothing.
	Devices  []AdviceDevice `json:"devices,omitempty"`
	StepTime int64          `json:"step_time_ns,omitempty"`
	Options  []AdviceOption `json:"options"`
	// Allocator lists settings of the allocator that would reserve less, the largest
	// saving first; none if a replay of the requests is not exact.
	Allocator []AllocatorAdvice `json:"allocator,omitempty"`
	// Unknown lists changes whose effect the program cannot predict.
	Unknown []string `json:"unknown,omitempty"`
	// Headroom is how many samples at a time fit, null if unknown.
	Headroom *trace.Headroom `json:"headroom"`
	// Applied lists the changes that were made, if the user asked for that.
	Applied *Changes `json:"applied,omitempty"`
}

// AdviceDevice is a device of a file. PeakAllocated is the highest of all devices in
// [Advice], and that of this one here.
type AdviceDevice struct {
	Device        int    `json:"device"`
	PeakAllocated int64  `json:"peak_allocated_bytes"`
	memory        string // what is known of its size, see [whatif.Answer.MemoryText]
}

// AdviceOption is a change and its predicted effect. For a file, the change is
// the kind of a finding and its remedy.
type AdviceOption struct {
	Device    int               `json:"device"`
	Change    map[string]string `json:"change"`
	Predicted Predicted         `json:"predicted"`
	Why       string            `json:"why"`
	name      string
}

// NewAdvice reports the proposals about the program of a trace, on the
// device of its last step.
func NewAdvice(t *trace.Trace, a *proposals.Answer) *Advice {
	r := &Advice{
		Schema: AdviceSchema, Settings: make(map[string]string), Options: make([]AdviceOption, 0), Unknown: a.Unknown,
		Headroom: a.Headroom,
	}
	if t.Live != nil {
		r.PID = t.Live.PID
	}
	if n := len(t.Steps); n > 0 {
		r.addStep(t, t.Steps[n-1].Device)
	}
	for i := range a.Proposals {
		o := &a.Proposals[i]
		r.Options = append(r.Options, AdviceOption{
			Change: map[string]string{o.Change.Key: o.Change.Value}, Predicted: *predictedOf(&o.Predicted), Why: o.Why(), name: o.Name(),
		})
	}
	return r
}

// FileAdvice reports advice from the stacks of a file: for each device the
// findings that would reduce its peak, the largest saving first. Savings of different
// devices add up to nothing, so they are not mixed.
func FileAdvice(t *trace.Trace) *Advice {
	r := &Advice{Schema: AdviceSchema, Path: t.Info.Path, Options: make([]AdviceOption, 0)}
	for i := range t.Devices {
		x := analysis.NewIndex(t, &t.Devices[i])
		d := AdviceDevice{Device: t.Devices[i].ID, PeakAllocated: x.Summary().PeakRequested}
		r.PeakAllocated, r.Devices = max(r.PeakAllocated, d.PeakAllocated), append(r.Devices, d)
		found := x.Savings()
		for k := range found {
			r.Options = append(r.Options, provenOption(t.Devices[i].ID, &found[k]))
		}
	}
	return r
}

func provenOption(device int, f *analysis.Finding) AdviceOption {
	change := cmp.Or(f.Kind.Change, f.Remedy)
	return AdviceOption{
		Device: device, Change: map[string]string{f.Kind.Name: change}, Predicted: Predicted{PeakAllocated: -f.Saving},
		Why: f.Evidence + "; " + f.Remedy, name: change,
	}
}

func (r *Advice) addStep(t *trace.Trace, device int) {
	last := t.LastStep(device)
	r.Step = last.Number
	for _, v := range last.Settings {
		r.Settings[v.Key] = v.Value
	}
	if measured := t.LastMeasured(device); measured != nil {
		r.PeakAllocated = measured.PeakAllocated
	}
	r.StepTime = analysis.UsualTime(t, last)
}
