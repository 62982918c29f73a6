package probe

import (
	"io"
	"math"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// busyProbe returns the probe of a program with a bit of everything.
func busyProbe(t *testing.T) *Probe {
	t.Helper()
	p := probetest.New()
	p.Run(10)
	look := func() []trace.Gauge {
		return []trace.Gauge{{Device: 0, Total: 100, Used: 50, Process: -1}, {Device: 1, Total: 200, Used: 60, Process: 7}}
	}
	rank := &trace.Rank{Job: "4711.0", Rank: 1, World: 4}
	probe := listening(t, p, Options{Gauge: look, Rank: rank, Program: "train \"big\"\\\nmodel \xff"})
	p.Run(20)
	probe.Record(0, trace.Event{Kind: trace.OOM, Size: 1 << 40})
	probe.Step(trace.Step{
		Number: 3, Duration: 1_500_000_000, Loss: math.NaN(), Allocated: 1 << 30, PeakAllocated: 1 << 40,
		Categories: []trace.Amount{{Name: "parameter", Bytes: 5}, {Name: "activation", Bytes: 6}},
	})
	return probe
}

// scrape asks for the metrics as a collector does.
func scrape(t *testing.T, probe *Probe, accept string) (status int, contentType, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://probe/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	answer, err := newClient(t, probe, "").Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(answer.Body)
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Content-Type"), string(body)
}

func TestMetricsAreInTheFormatThatIsAskedFor(t *testing.T) {
	tests := map[string]struct {
		accept string
		format exposition.Format
	}{
		"curl":                    {"*/*", exposition.OpenMetrics},
		"Prometheus":              {"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", exposition.OpenMetrics},
		"a collector from before": {"text/plain;version=0.0.4;q=0.3,*/*;q=0.2", exposition.Text},
	}
	probe := busyProbe(t)
	want := map[string]float64{
		`memtop_allocated_bytes{device="0"}`:                      30 * probetest.Block,
		`memtop_requested_bytes{device="0"}`:                      30 * probetest.Block,
		`memtop_reserved_bytes{device="0"}`:                       probetest.Slots * probetest.Block,
		`memtop_events_total{device="0"}`:                         21,
		`memtop_out_of_memory_total{device="0"}`:                  1,
		`memtop_ranks`:                                            4,
		`memtop_step_allocated_bytes{device="0"}`:                 1 << 30,
		`memtop_step`:                                             3,
		`memtop_step_duration_seconds`:                            1.5,
		`memtop_step_peak_allocated_bytes{device="0"}`:            1 << 40,
		`memtop_category_bytes{category="activation",device="0"}`: 6,
		`memtop_device_used_bytes{device="1"}`:                    60,
		`memtop_device_process_bytes{device="1"}`:                 7,
		`memtop_probe_dropped_events_total`:                       0,
		`memtop_probe_viewers`:                                    0,
		"memtop_program_info{command=\"train \"big\"\\\nmodel \uFFFD\",job_id=\"4711.0\",pid=\"" + strconv.Itoa(probe.who.pid) + `",rank="1",user="` + probe.who.user + `"}`: 1,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, contentType, text := scrape(t, probe, test.accept)
			if contentType != test.format.ContentType() {
				t.Errorf("content type %q", contentType)
			}
			samples, err := exposition.Parse(test.format, text)
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			for name, value := range want {
				if got, ok := samples[name]; !ok || got != value {
					t.Errorf("%s is %v, %v, want %v", name, got, ok, value)
				}
			}
			if !math.IsNaN(samples["memtop_step_loss"]) || samples["memtop_probe_cost_seconds_total"] <= 0 {
				t.Errorf("loss %v, cost %v", samples["memtop_step_loss"], samples["memtop_probe_cost_seconds_total"])
			}
			if _, ok := samples[`memtop_device_process_bytes{device="0"}`]; ok {
				t.Error("what is not known has a value")
			}
		})
	}
}

func TestMetricsInAnotherFormatAreRefused(t *testing.T) {
	status, _, text := scrape(t, busyProbe(t), "application/json")
	if status != http.StatusNotAcceptable || !strings.Contains(text, "text/plain; version=0.0.4") {
		t.Errorf("got %d: %s", status, text)
	}
}

// TestGaugesAreLookedAtAnew asks twice: a look of a minute ago is not shown again.
func TestGaugesAreLookedAtAnew(t *testing.T) {
	p := probetest.New()
	var looks atomic.Int64
	probe := listening(t, p, Options{Gauge: func() []trace.Gauge { return []trace.Gauge{{Used: looks.Add(1)}} }})
	for want := range int64(3) {
		if got := probe.info().Gauges; len(got) != 1 || got[0].Used != want+1 {
			t.Errorf("look %d gives %+v", want+1, got)
		}
		probe.gauges.mu.Lock()
		probe.gauges.at = probe.gauges.at.Add(-time.Minute)
		probe.gauges.mu.Unlock()
	}
}

func TestPromtoolAcceptsTheMetrics(t *testing.T) {
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool, which comes with Prometheus, is not installed")
	}
	_, _, text := scrape(t, busyProbe(t), "text/plain")
	check := exec.CommandContext(t.Context(), path, "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if said, err := check.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("%v: %s\nof\n%s", err, said, text)
	}
}

func TestWhatAProgramSaysOfItself(t *testing.T) {
	p := probetest.New()
	p.Run(10)
	gauge := trace.Gauge{Device: 0, Time: 1, Total: 100, Used: 50, Process: -1}
	rank := trace.Rank{Job: "4711.0", Rank: 1, World: 4, Local: 1, Launcher: "srun", Together: true}
	probe := listening(t, p, Options{
		Control: p, Rank: &rank, Program: "train", Writer: "a made program", Gauge: func() []trace.Gauge { return []trace.Gauge{gauge} },
	})
	p.Finish(probe)
	newClient(t, probe, "w").post(t, "amp", "bf16")
	got := probe.info()
	if got.Started <= 0 || got.PID == 0 || got.User == "" {
		t.Errorf("started %d, process %d, user %q", got.Started, got.PID, got.User)
	}
	got.Started, got.PID, got.User, got.Host, got.ProbeNS = 0, 0, "", "", 0
	requested, failed := int64(10*probetest.Block), int64(0)
	loss := wire.Float(2)
	want := protocol.Info{
		Version: 1, Capabilities: []string{"snapshot", "metrics", "control", "gauges"}, Command: "train",
		Writer: "a made program", Step: 1, Changing: "w", Rank: &rank,
		Devices: []protocol.DeviceInfo{{Allocated: requested, Requested: &requested, Reserved: probetest.Slots * probetest.Block, OutOfMemory: &failed}},
		LastStep: &protocol.LastStep{
			PeakAllocated: probetest.Slots * probetest.Block, PeakReserved: probetest.Slots * probetest.Block,
			AtPeak:   []trace.Amount{{Name: "activation", Bytes: probetest.Slots * probetest.Block}},
			Duration: int64(time.Millisecond), Loss: &loss, Settings: []trace.Value{{Key: "amp", Value: "off"}, {Key: "checkpoint", Value: "none"}},
		},
		Gauges: []trace.Gauge{gauge},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
}
