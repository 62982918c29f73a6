package report

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// liveRun is a step of a program on a device that other programs use too.
func liveRun(tb testing.TB) *trace.Trace {
	tb.Helper()
	t := tracetest.Parse(tb, `
info kind="live"
note weight category="parameter" layer="blocks.0" role="weight"
note output category="activation" layer="blocks.0" role="output"
note tokens category="input" layer="data" role="tokens"
frame weights "model.py" 3 "forward"
frame outputs "model.py" 5 "forward"
stack weights weights
stack outputs outputs
device 0
alloc 0x100000 65536 @3 stack=weights note=weight
step_begin 0 1 @6
alloc 0x110000 196608 @9 stack=outputs note=output
free_requested 0x110000 196608 @12 note=output
free_completed 0x110000 196608 @15 note=output
alloc 0x110000 700 @18 note=tokens
step_end 0 1 @21
segment 0x100000 262656
block 0x100000 65536 active_allocated requested=65536 stack=weights note=weight
block 0x110000 1024 active_allocated requested=700 note=tokens
block 0x110400 196096 inactive
`)
	t.Info.Growing = true
	t.Live = &trace.Live{PID: 4711, Dropped: 3, Gauges: []trace.Gauge{{
		Total: 1 << 30, Used: 1 << 20, Process: 700 << 10, Others: 200 << 10, Utilisation: 50, Temperature: -1, Power: -1,
	}}}
	t.Steps = []trace.Step{{
		Number: 1, Time: 21, Duration: 1_000_000, PeakAllocated: 4 << 16, PeakReserved: 5 << 16, ProbeNS: 99,
		AtPeak:   []trace.Amount{{Name: "parameter", Bytes: 1 << 16}, {Name: "activation", Bytes: 3 << 16}},
		Settings: []trace.Value{{Key: "amp", Value: "off"}, {Key: "checkpoint", Value: "none"}},
		Layers:   []trace.Layer{{Class: "GPT"}, {Name: "blocks.0", Class: "Block", SavedBytes: 3 << 16, OutputShape: "[1]"}},
	}}
	return t
}

func TestLiveReportHasTheKeysOfItsSchemaInOrder(t *testing.T) {
	text, err := json.Marshal(NewLive(liveRun(t)))
	fatal.If(t, err)
	for name, keys := range map[string]string{
		"report": "schema pid step settings allocated_bytes reserved_bytes peak_allocated_bytes peak_reserved_bytes " +
			"categories categories_at_peak waterfall host_bytes layers tensors leaks gauges probe findings",
		"categories": "parameter gradient optimizer activation backward-temporary input kv-cache workspace inference gathered-parameter communication other",
		"layer": "name class output_shape dtype parameter_bytes output_bytes saved_bytes transient_peak_bytes " +
			"forward_ns backward_ns recompute_ns checkpointed on_host",
		"tensor": "name category shape dtype bytes age_steps layer site stack",
		"gauges": "device_total_bytes device_used_bytes process_bytes",
		"probe":  "cost_ns_per_step dropped_events",
	} {
		at := 0
		for key := range strings.FieldsSeq(keys) {
			next := strings.Index(string(text[at:]), `"`+key+`":`)
			if next < 0 {
				t.Fatalf("%s: no %q after byte %d of %s", name, key, at, text)
			}
			if name == "report" {
				at += next
			}
		}
	}
}

func TestAStepThatWasNotMeasuredHidesNoneThatWas(t *testing.T) {
	run := liveRun(t)
	run.Steps = append(run.Steps, trace.Step{Number: 9, Time: 22, Duration: 1_000_000, Allocated: 7 << 16, Reserved: 8 << 16})
	r := NewLive(run)
	if r.Step != 9 || *r.BehindSteps != 8 || *r.AllocatedBytes != 7<<16 || *r.ReservedBytes != 8<<16 {
		t.Errorf("got %d bytes of %d at step %d, and the rest %d steps older", *r.AllocatedBytes, *r.ReservedBytes, r.Step, *r.BehindSteps)
	}
	if r.Probe.CostNSPerStep != nil {
		t.Errorf("the cost of two steps is said to be that of watching: %d ns", *r.Probe.CostNSPerStep)
	}
	if *r.PeakAllocatedBytes != 4<<16 || r.CategoriesAtPeak.Bytes[trace.Activation] != 3<<16 {
		t.Errorf("got a peak of %d, want that of the step that was measured", *r.PeakAllocatedBytes)
	}
	if peaks := analysis.StepPeaks(r.Index()); len(peaks) != 1 || peaks[0].Number != 1 {
		t.Errorf("got peaks %+v, want that of step 1 only", peaks)
	}
}

func TestLiveReportSaysWhatIsThere(t *testing.T) {
	r := NewLive(liveRun(t))
	if r.PID != 4711 || r.Step != 1 || *r.PeakAllocatedBytes != 4<<16 || r.Settings["checkpoint"] != "none" || r.Probe.CostNSPerStep != nil || r.Probe.DroppedEvents != 3 {
		t.Errorf("got %+v", r)
	}
	if r.Categories.Bytes[trace.Parameter] != 1<<16 || r.Categories.Bytes[trace.Input] != 700 || r.CategoriesAtPeak.Bytes[trace.Activation] != 3<<16 {
		t.Errorf("categories: got %+v and at the peak %+v", r.Categories, r.CategoriesAtPeak)
	}
	if *r.Gauges.ProcessBytes != 700<<10 || r.Gauges.TemperatureCelsius != nil {
		t.Errorf("gauges: got %+v", r.Gauges)
	}
	var sum int64
	for _, row := range r.Waterfall {
		sum += row.Bytes
	}
	if sum != 1<<20 {
		t.Errorf("the waterfall sums to %d, want what the device has in use, %d", sum, 1<<20)
	}
	if len(r.Tensors) != 2 || r.Tensors[0].Name != "blocks.0 weight" || r.Tensors[0].Stack[0] != "model.py:3 forward" || r.Tensors[1].AgeSteps != 0 {
		t.Errorf("tensors: got %+v", r.Tensors)
	}
	for _, tensor := range r.Tensors {
		if tensor.Site == "" || tensor.Name == "blocks.0 weight" && tensor.Site != "blocks.0 weight, model.py:3 forward" {
			t.Errorf("%s: the site is %q", tensor.Name, tensor.Site)
		}
		if tensor.Stack == nil {
			t.Errorf("%s: the stack is null, want a list", tensor.Name)
		}
	}
}

func TestLiveReportSaysWhatIsOnTheHost(t *testing.T) {
	run := liveRun(t)
	run.Steps[0].Host = []trace.Amount{{Name: "optimizer", Bytes: 3 << 20}, {Name: "gradient"}, {Name: "activation", Bytes: 1 << 20}}
	r := NewLive(run)
	if r.HostBytes.Bytes[trace.Optimizer] != 3<<20 || r.HostBytes.Bytes[trace.Activation] != 1<<20 {
		t.Errorf("got %+v", r.HostBytes)
	}
	var text strings.Builder
	fatal.If(t, r.Text(&text, 100))
	const want = "  on the host                4.0 MiB  3.0 MiB optimizer state, 1.0 MiB activations\n"
	if !strings.Contains(text.String(), want) {
		t.Errorf("the text has no line %q:\n%s", want, &text)
	}
	run.Steps[0].Host = nil
	text.Reset()
	if err := NewLive(run).Text(&text, 100); err != nil || strings.Contains(text.String(), "host") {
		t.Errorf("of a run with nothing there (error %v):\n%s", err, &text)
	}
}

// TestWhatIsNotKnownYetIsNoZero has a program that was not looked at, before its first
// step and after two that nobody measured.
func TestWhatIsNotKnownYetIsNoZero(t *testing.T) {
	zero := regexp.MustCompile(`\b0 B|": 0[,\n]`)
	for name, test := range map[string]struct {
		steps []trace.Step
		peak  string
	}{
		"before its first step":        {nil, "not known"},
		"after steps nobody looked at": {[]trace.Step{{Number: 1}, {Number: 2, ProbeNS: 7}}, "not known"},
		"after one that was":           {[]trace.Step{{Number: 1, PeakAllocated: 3 << 20, PeakReserved: 4 << 20, ProbeNS: 7}}, "3.0 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			run := tracetest.Parse(t, "info kind=\"live\"\ndevice 0\n")
			run.Info.Growing, run.Live, run.Steps = true, &trace.Live{PID: 4711}, test.steps
			r := NewLive(run)
			text := pageOf(t, r, 80)
			if !strings.Contains(text, "is not known yet") || !strings.Contains(text, "allocated      not known "+fmt.Sprintf("%11s", test.peak)) {
				t.Errorf("it says\n%s", text)
			}
			r.Step, r.Probe.DroppedEvents = 1, 1 // may be 0, which is known
			form, err := json.MarshalIndent(r, "", " ")
			fatal.If(t, err)
			if test.peak != "not known" {
				form = nil // of what was alive at the peak other categories had nothing
			}
			for _, said := range []string{text, string(form)} {
				if found := zero.FindString(said); found != "" {
					t.Errorf("%q in\n%s", found, said)
				}
			}
		})
	}
}

func TestTheHighestIsSinceTheProgramBeganIfItSaysSo(t *testing.T) {
	run := liveRun(t)
	if h := NewLive(run).Highest; h == nil || h.Since != "watched" || h.AllocatedBytes != 262656 || h.ReservedBytes != 5<<16 {
		t.Errorf("of a program that does not say: %+v", h)
	}
	run.Steps[0].HighestAllocated, run.Steps[0].HighestReserved = 9<<20, 10<<20
	r := NewLive(run)
	if h := r.Highest; h == nil || *h != (Highest{9 << 20, 10 << 20, "program"}) {
		t.Errorf("of a program that says: %+v", h)
	}
	text := pageOf(t, r, 100)
	wantIn(t, text, "step's peak  highest since the program began\n", "   256.0 KiB  9.0 MiB\n")
}

// TestBeforeAFirstLookNothingIsSaidToBeForSomething has memory whose use is guessed
// from nothing yet.
func TestBeforeAFirstLookNothingIsSaidToBeForSomething(t *testing.T) {
	run := liveRun(t)
	run.Steps[0].PeakAllocated = 0
	run.Live.Looking = true
	r := NewLive(run)
	if !r.Looking || r.Categories != nil || r.CategoriesAtPeak != nil || r.PeakAllocatedBytes != nil || len(r.Waterfall)+len(r.Findings) > 0 {
		t.Errorf("got %+v", r)
	}
	if r.AllocatedBytes == nil {
		t.Error("it knows how much is in use")
	}
	var text strings.Builder
	if err := r.Text(&text, 100); err != nil || !strings.Contains(text.String(), "is not known yet") {
		t.Errorf("error %v, it says\n%s", err, &text)
	}
}

func TestTemporaryMemoryThatIsNotMeasuredIsNull(t *testing.T) {
	run := liveRun(t)
	if l := NewLive(run).Layers[1]; l.TransientPeakBytes != nil {
		t.Errorf("got %d", *l.TransientPeakBytes)
	}
	run.Steps[0].Layers[1].TransientPeakBytes, run.Steps[0].Layers[1].Calls = 7, 4
	if l := NewLive(run).Layers[1]; l.TransientPeakBytes == nil || *l.TransientPeakBytes != 7 || l.Calls != 4 {
		t.Errorf("got %v in %d calls", l.TransientPeakBytes, l.Calls)
	}
}
